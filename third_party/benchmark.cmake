# google-benchmark, for the C++ benchmarks: its library and CMake package, as distributions ship
# them.

find_package(benchmark CONFIG QUIET)
if(NOT benchmark_FOUND)
  message(FATAL_ERROR
    "google-benchmark was not found, which TILEWRIGHT_BENCHMARKS needs: run `apt-get install "
    "libbenchmark-dev`, or pass -Dbenchmark_DIR=<where benchmarkConfig.cmake is>.")
endif()
