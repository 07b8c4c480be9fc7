#include <doctest/doctest.h>

#include <span>

#include "asked_device.hpp"
#include "tilewright/program.hpp"

namespace tilewright::gpu {
namespace {

Program adding(double number) {
  Program program;
  const auto x = program.input(DType::float32);
  program.output(program.apply("add", {x, program.constant(number, DType::float32)}));
  return program;
}

struct Run {
  explicit Run(Opened& opened)
      : opened(opened), x(opened.backend.alloc(400)), y(opened.backend.alloc(400)) {}
  void operator()(const Program& program, Size n = 100) {
    const MapOperand inputs[]{{x}}, outputs[]{{y}};
    opened.backend.map(program, std::span(&n, 1), inputs, {}, outputs);
  }
  Opened& opened;
  Buffer x, y;
};

TEST_CASE("programs: 1,024 kernels are kept, and the least recently used one is let go of first") {
  Opened opened;
  Run run(opened);
  const auto compiled = [&] { return opened.asked.compiled.size(); };
  for (int i = 0; i < 1024; ++i) run(adding(i));
  CHECK(compiled() == 1024);
  run(adding(0));
  CHECK(compiled() == 1024);
  run(adding(1024));
  CHECK(compiled() == 1025);
  run(adding(0));
  CHECK(compiled() == 1025);
  run(adding(1));
  CHECK(compiled() == 1026);
}

TEST_CASE("programs: sizes and numbers ask for no new kernel") {
  Opened opened;
  Run run(opened);
  for (const Size n : {100, 40, 4}) run(adding(1), n);
  CHECK(opened.asked.compiled.size() == 1);
  for (const Size n : {99, 3, 1}) run(adding(1), n);
  CHECK(opened.asked.compiled.size() == 2);

  Program program;
  const auto x = program.input(DType::float32);
  program.output(program.apply("mul", {x, program.number(DType::float32)}));
  const MapOperand inputs[]{{run.x}}, outputs[]{{run.y}};
  const Size n = 100;
  for (const double number : {1.0, 2.0}) {
    const Number numbers[]{number};
    opened.backend.map(program, std::span(&n, 1), inputs, numbers, outputs);
  }
  CHECK(opened.asked.compiled.size() == 3);
}

TEST_CASE("programs: without the cache of kernels each use compiles") {
  Config config;
  config.enable_pipeline_cache = false;
  Opened opened(config);
  Run run(opened);
  run(adding(1));
  run(adding(1));
  CHECK(opened.asked.compiled.size() == 2);
}

}  // namespace
}  // namespace tilewright::gpu
