# clang of the ziglang package, which compiles OpenCL C to SPIR-V, for the Level Zero backend. One
# pinned version, so that every build has the same kernels.
#
# Sets TILEWRIGHT_ZIG, the program zig of that package; give it to use another one.

set(package ziglang==0.17.0)  # pyproject.toml names it too

if(NOT TILEWRIGHT_ZIG)
  find_package(Python COMPONENTS Interpreter REQUIRED)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
      "import importlib.util as u; print(u.find_spec('ziglang').submodule_search_locations[0] + '/zig')"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed ERROR_VARIABLE why)
  if(NOT failed)
    file(TO_CMAKE_PATH ${found}${CMAKE_HOST_EXECUTABLE_SUFFIX} found)
  endif()
  if(failed OR NOT EXISTS "${found}")
    message(FATAL_ERROR
      "The compiler of the Level Zero backend's kernels was not found. Type\n"
      "  ${Python_EXECUTABLE} -m pip install ${package}\n"
      "or pass -DTILEWRIGHT_ZIG=<the program zig>, or -DTILEWRIGHT_LEVEL_ZERO=OFF.\n${found} ${why}")
  endif()
  set(TILEWRIGHT_ZIG ${found} CACHE FILEPATH "zig, whose clang compiles OpenCL C" FORCE)
endif()
