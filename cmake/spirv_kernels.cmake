# The kernels as SPIR-V, each a C++ source of its own beside a table of all; an empty table where the
# Level Zero backend is left out. Those of csrc/kernels/wgsl are translated where lines with //! say how, but for those that have
# a twin of the same name in csrc/kernels/opencl. Adds to `sources`.
set(folder ${CMAKE_CURRENT_SOURCE_DIR}/kernels/opencl)
set(declarations "")
set(calls "")
if(TILEWRIGHT_LEVEL_ZERO)
  file(GLOB opencl_kernels CONFIGURE_DEPENDS ${folder}/*.cl)
  file(GLOB opencl_headers CONFIGURE_DEPENDS ${folder}/*.h)
  list(APPEND opencl_headers ${CMAKE_CURRENT_SOURCE_DIR}/core/program/elementwise.def)
  set(compile ${PROJECT_SOURCE_DIR}/cmake/compile_opencl.py)
  file(GLOB spirv_tools CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/spirv_*.py)
  file(GLOB translator CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/wgsl_to_opencl/*.py)
  find_package(Python COMPONENTS Interpreter REQUIRED)
  set(kernels ${opencl_kernels})
  foreach(kernel IN LISTS kernel_sources)
    get_filename_component(name ${kernel} NAME_WE)
    file(STRINGS ${kernel} variables REGEX "^//! ")
    if(variables AND NOT EXISTS ${folder}/${name}.cl)
      list(APPEND kernels ${kernel})
    endif()
  endforeach()
  foreach(kernel IN LISTS kernels)
    get_filename_component(name ${kernel} NAME_WE)
    set(needs ${kernel} ${opencl_headers} ${compile} ${spirv_tools} ${translator})
    set(compiled ${CMAKE_CURRENT_BINARY_DIR}/spirv/${name}.cpp)
    add_custom_command(OUTPUT ${compiled}
      COMMAND ${Python_EXECUTABLE} ${compile} --zig ${TILEWRIGHT_ZIG} --source ${kernel}
        --headers ${folder} --output ${compiled} --depfile ${compiled}.d --modules ${PROJECT_BINARY_DIR}/spirv
      DEPENDS ${needs} DEPFILE ${compiled}.d VERBATIM)
    list(APPEND sources ${compiled})
    string(APPEND declarations "SpirvKernel spirv_kernel_${name}();\n")
    string(APPEND calls "      spirv_kernel_${name}(),\n")
  endforeach()
endif()
set(table ${CMAKE_CURRENT_BINARY_DIR}/spirv/table.cpp)
file(CONFIGURE OUTPUT ${table} @ONLY CONTENT [[
#include <vector>

#include "gpu/spirv_kernels.hpp"

namespace tilewright::gpu {

@declarations@
std::span<const SpirvKernel> embedded_spirv_kernels() {
  static const std::vector<SpirvKernel> all{
@calls@  };
  return all;
}

}  // namespace tilewright::gpu
]])
list(APPEND sources ${table})
