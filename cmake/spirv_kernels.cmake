# The kernels as SPIR-V, each a C++ source of its own, whose entries are in a table of all; an empty
# table where the Level Zero backend is left out. Those of csrc/kernels/wgsl are translated where
# lines with //! say how, but for those that have a twin of the same name in csrc/kernels/opencl.
# Adds to `sources`.
set(folder ${CMAKE_CURRENT_SOURCE_DIR}/kernels/opencl)
set(entries "")
set(all "")
set(compiled_kernels "")
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
    list(APPEND compiled_kernels ${compiled})
    string(APPEND entries "#include \"${name}.cpp\"\n")
    string(APPEND all "      of_${name}::kernel(),\n")
  endforeach()
endif()
set(table ${CMAKE_CURRENT_BINARY_DIR}/spirv/table.cpp)
file(CONFIGURE OUTPUT ${table} @ONLY CONTENT [[
#include <vector>

#include "gpu/spirv_kernels.hpp"

#define TILEWRIGHT_SPIRV_TABLE

namespace tilewright::gpu {

@entries@
std::span<const SpirvKernel> embedded_spirv_kernels() {
  static const std::vector<SpirvKernel> all{
@all@  };
  return all;
}

}  // namespace tilewright::gpu
]])
set_source_files_properties(${compiled_kernels} ${table} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
list(APPEND sources ${compiled_kernels} ${table})
