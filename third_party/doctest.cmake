# doctest, for the C++ tests: its headers and CMake package, as distributions ship them.

find_package(doctest CONFIG QUIET)
if(NOT doctest_FOUND)
  message(FATAL_ERROR
    "doctest was not found, which TILEWRIGHT_TESTS needs: run `apt-get install doctest-dev`, or "
    "pass -Ddoctest_DIR=<where doctestConfig.cmake is>.")
endif()
include(${doctest_DIR}/doctest.cmake)
