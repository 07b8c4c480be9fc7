# The kernels of csrc/kernels/opencl as SPIR-V, each a C++ source of its own beside a table of all;
# an empty table where the Level Zero backend is left out. Adds to `sources`.
set(folder ${CMAKE_CURRENT_SOURCE_DIR}/kernels/opencl)
set(declarations "")
set(calls "")
if(TILEWRIGHT_LEVEL_ZERO)
  file(GLOB opencl_kernels CONFIGURE_DEPENDS ${folder}/*.cl)
  file(GLOB opencl_headers CONFIGURE_DEPENDS ${folder}/*.h)
  set(compile ${PROJECT_SOURCE_DIR}/cmake/compile_opencl.py)
  find_package(Python COMPONENTS Interpreter REQUIRED)
  foreach(kernel IN LISTS opencl_kernels)
    get_filename_component(name ${kernel} NAME_WE)
    set(compiled ${CMAKE_CURRENT_BINARY_DIR}/spirv/${name}.cpp)
    add_custom_command(OUTPUT ${compiled}
      COMMAND ${Python_EXECUTABLE} ${compile} --zig ${TILEWRIGHT_ZIG} --source ${kernel}
        --output ${compiled} --modules ${PROJECT_BINARY_DIR}/spirv
      DEPENDS ${kernel} ${opencl_headers} ${compile} VERBATIM)
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
