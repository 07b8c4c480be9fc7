# Every target of a manylinux build also gets what an old libstdc++ lacks.
add_library(libstdcxx_compat STATIC ${CMAKE_CURRENT_LIST_DIR}/libstdcxx_compat.cpp)
set_target_properties(libstdcxx_compat PROPERTIES
  CXX_STANDARD 20
  POSITION_INDEPENDENT_CODE ON)
link_libraries($<BUILD_INTERFACE:libstdcxx_compat>)
