# Builds for manylinux_2_28 on any machine, x86_64 or aarch64: clang and glibc 2.28 from the ziglang
# package. The C++ library is GCC's, not zig's, because the interface passes std::string and whoever
# links libtilewright.so does so with g++.
#
# Needs GCC 12's C++ headers (Debian: libstdc++-12-dev, or libstdc++-12-dev-arm64-cross), and
#   -DTILEWRIGHT_ZIG=<zig>          the compiler of the ziglang package
#   -DTILEWRIGHT_WHEEL_ARCH=<arch>  x86_64 or aarch64

set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TILEWRIGHT_ZIG TILEWRIGHT_WHEEL_ARCH)
set(triple ${TILEWRIGHT_WHEEL_ARCH}-linux-gnu)

if(TILEWRIGHT_WHEEL_ARCH STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(cxx_headers /usr/include/c++/12)
  set(cxx_target_headers /usr/include/${triple}/c++/12)
  set(gcc_dir /usr/lib/gcc/${triple}/12)
  set(runtime_dir /usr/lib/${triple})
else()
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${TILEWRIGHT_WHEEL_ARCH})
  set(cxx_headers /usr/${triple}/include/c++/12)
  set(cxx_target_headers ${cxx_headers}/${triple})
  set(gcc_dir /usr/lib/gcc-cross/${triple}/12)
  set(runtime_dir /usr/${triple}/lib)
endif()

foreach(needed ${cxx_headers}/string ${gcc_dir}/libgcc.a ${runtime_dir}/libstdc++.so.6
    ${runtime_dir}/libgcc_s.so.1)
  if(NOT EXISTS ${needed})
    message(FATAL_ERROR "${needed} was not found: install GCC 12's C++ library for ${triple}")
  endif()
endforeach()

set(CMAKE_CXX_COMPILER ${TILEWRIGHT_ZIG} c++)
string(JOIN " " CMAKE_CXX_FLAGS_INIT
  -target ${triple}.2.28
  -fno-sanitize=undefined
  -nostdinc++
  -I${CMAKE_CURRENT_LIST_DIR}/include
  -I${cxx_headers}
  -I${cxx_target_headers}
  -I${cxx_headers}/backward)
string(JOIN " " linker_flags -nostdlib++ -Wl,--allow-shlib-undefined -s)
set(CMAKE_EXE_LINKER_FLAGS_INIT ${linker_flags})
set(CMAKE_SHARED_LINKER_FLAGS_INIT ${linker_flags})
set(CMAKE_MODULE_LINKER_FLAGS_INIT ${linker_flags})
# By path: zig takes -lgcc_s for its own unwinder, which cannot pass GCC's exceptions on.
string(JOIN " " CMAKE_CXX_STANDARD_LIBRARIES
  ${runtime_dir}/libstdc++.so.6 ${runtime_dir}/libgcc_s.so.1 ${gcc_dir}/libgcc.a)

set(CMAKE_PROJECT_tilewright_INCLUDE ${CMAKE_CURRENT_LIST_DIR}/project.cmake)
