# wgpu-native, for the WebGPU backend: headers and library of the wgpu package, which is Python's and
# otherwise not used. The library is not linked but copied beside ours under our own name and opened
# at run time: it has no SONAME, and a process may hold another WebGPU library.
#
# Sets TILEWRIGHT_WGPU_FOLDER, where webgpu.h, wgpu.h and the library are; give it to use another
# build of the same version.

set(TILEWRIGHT_WGPU_VERSION 29.0.1.1)
set(package wgpu==0.32.0)  # the one that has this version; pyproject.toml names it too

if(NOT TILEWRIGHT_WGPU_FOLDER)
  find_package(Python COMPONENTS Interpreter REQUIRED)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
      "import importlib.util as u; print(u.find_spec('wgpu').submodule_search_locations[0] + '/resources')"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed ERROR_VARIABLE why)
  if(failed OR NOT EXISTS "${found}/wgpu.h")
    message(FATAL_ERROR
      "wgpu-native was not found, which the WebGPU backend needs. Type\n"
      "  ${Python_EXECUTABLE} -m pip install --no-deps ${package}\n"
      "or pass -DTILEWRIGHT_WGPU_FOLDER=<the folder of webgpu.h, wgpu.h and the library>, or "
      "-DTILEWRIGHT_WEBGPU=OFF.\n${found} ${why}")
  endif()
  file(TO_CMAKE_PATH ${found} found)
  set(TILEWRIGHT_WGPU_FOLDER ${found} CACHE PATH "The folder of wgpu-native" FORCE)
endif()

file(GLOB library
  ${TILEWRIGHT_WGPU_FOLDER}/libwgpu_native*${CMAKE_SHARED_LIBRARY_SUFFIX}
  ${TILEWRIGHT_WGPU_FOLDER}/wgpu_native*${CMAKE_SHARED_LIBRARY_SUFFIX})
list(LENGTH library count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR
    "TILEWRIGHT_WGPU_FOLDER is ${TILEWRIGHT_WGPU_FOLDER}, where one library of wgpu-native for "
    "${CMAKE_SYSTEM_NAME} was expected, but there are ${count}: ${library}")
endif()
set(TILEWRIGHT_WGPU_NAME
  ${CMAKE_SHARED_LIBRARY_PREFIX}tilewright_wgpu${CMAKE_SHARED_LIBRARY_SUFFIX})
configure_file(${library} ${PROJECT_BINARY_DIR}/lib/${TILEWRIGHT_WGPU_NAME} COPYONLY)
