# OpenBLAS, for the CPU backend's matrix products: the library of the scipy-openblas32 package. It is
# not linked but copied beside ours under our own name and opened at run time, so that it never meets
# another OpenBLAS of the process.
#
# Sets TILEWRIGHT_OPENBLAS_LIBRARY, the file to copy, and TILEWRIGHT_OPENBLAS_LICENSE, the licences of
# all that is in it; give both to use another build with the symbols of that package.

if(NOT TILEWRIGHT_OPENBLAS_LIBRARY)
  find_package(Python COMPONENTS Interpreter REQUIRED)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
      "import scipy_openblas32 as o; print(o.get_lib_dir() + '/' + o.get_library(fullname=True))"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed ERROR_VARIABLE why)
  if(failed OR NOT EXISTS "${found}")
    message(FATAL_ERROR
      "OpenBLAS was not found. Type\n"
      "  ${Python_EXECUTABLE} -m pip install scipy-openblas32\n"
      "or pass -DTILEWRIGHT_OPENBLAS_LIBRARY=<its library>.\n${found} ${why}")
  endif()
  set(TILEWRIGHT_OPENBLAS_LIBRARY ${found} CACHE FILEPATH "The OpenBLAS library to copy" FORCE)
endif()

set(TILEWRIGHT_OPENBLAS_NAME
  ${CMAKE_SHARED_LIBRARY_PREFIX}tilewright_openblas${CMAKE_SHARED_LIBRARY_SUFFIX})
configure_file(${TILEWRIGHT_OPENBLAS_LIBRARY} ${PROJECT_BINARY_DIR}/lib/${TILEWRIGHT_OPENBLAS_NAME}
  COPYONLY)

if(TILEWRIGHT_INSTALL AND NOT TILEWRIGHT_OPENBLAS_LICENSE)
  cmake_path(GET TILEWRIGHT_OPENBLAS_LIBRARY PARENT_PATH site)
  cmake_path(APPEND site "../..")
  file(GLOB_RECURSE licence ${site}/scipy_openblas32-*.dist-info/LICENSE*)
  if(NOT licence)
    message(FATAL_ERROR
      "The licence of ${TILEWRIGHT_OPENBLAS_LIBRARY} was not found; pass "
      "-DTILEWRIGHT_OPENBLAS_LICENSE=<its file>.")
  endif()
  set(TILEWRIGHT_OPENBLAS_LICENSE ${licence} CACHE FILEPATH "The licence to install with it" FORCE)
endif()
