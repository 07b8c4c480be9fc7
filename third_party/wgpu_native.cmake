# wgpu-native, for the WebGPU backend: library and headers from the wgpu package. The library is copied
# beside ours under our own name and opened at run time; it has no SONAME, and a process may hold
# another WebGPU library.
#
# Sets TILEWRIGHT_WGPU_FOLDER (webgpu.h, wgpu.h and the library) and TILEWRIGHT_WGPU_NAME.

set(TILEWRIGHT_WGPU_VERSION 29.0.1.1)

if(NOT TILEWRIGHT_WGPU_FOLDER)
  find_package(Python COMPONENTS Interpreter REQUIRED)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
      "import importlib.util as u, os; print(os.path.join(u.find_spec('wgpu').submodule_search_locations[0], 'resources'))"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed ERROR_VARIABLE why)
  if(failed OR NOT EXISTS "${found}/wgpu.h")
    message(FATAL_ERROR
      "wgpu-native was not found: run `${Python_EXECUTABLE} -m pip install --no-deps wgpu==0.32.0`, "
      "or pass -DTILEWRIGHT_WGPU_FOLDER=<folder with wgpu.h, webgpu.h and the library>.\n${found} ${why}")
  endif()
  set(TILEWRIGHT_WGPU_FOLDER ${found} CACHE PATH "The folder of wgpu-native" FORCE)
endif()

file(GLOB wgpu_library
  ${TILEWRIGHT_WGPU_FOLDER}/libwgpu_native-release.so
  ${TILEWRIGHT_WGPU_FOLDER}/libwgpu_native-release.dylib
  ${TILEWRIGHT_WGPU_FOLDER}/wgpu_native-release.dll)
set(TILEWRIGHT_WGPU_NAME
  ${CMAKE_SHARED_LIBRARY_PREFIX}tilewright_wgpu${CMAKE_SHARED_LIBRARY_SUFFIX})
configure_file(${wgpu_library} ${PROJECT_BINARY_DIR}/lib/${TILEWRIGHT_WGPU_NAME} COPYONLY)
