# Compiles headers once for all files of a target, some of ours among them. A launcher, such as ccache, keeps whole objects and
# does not see through such headers. CMAKE_DISABLE_PRECOMPILE_HEADERS turns them off.
function(tilewright_precompile target)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
