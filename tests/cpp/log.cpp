#include "core/log.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/registry.hpp"

namespace tilewright {
namespace {

std::vector<std::pair<LogLevel, std::string>> lines;

struct Recorded {
  Recorded() {
    lines.clear();
    set_log_sink(
        [](LogLevel level, std::string_view line) noexcept { lines.emplace_back(level, line); });
  }
  ~Recorded() { set_log_sink(nullptr); }
};

bool logged(const std::string& words) {
  return std::any_of(lines.begin(), lines.end(), [&](const auto& line) {
    return line.second.find(words) != std::string::npos;
  });
}

TEST_CASE("log: lines go to the sink while there is one") {
  CHECK_FALSE(log_enabled());
  log(LogLevel::error, "nobody listens");
  {
    const Recorded recorded;
    CHECK(log_enabled());
    log(LogLevel::warning, "a line");
    REQUIRE(lines.size() == 1);
    CHECK(lines[0] == std::pair{LogLevel::warning, std::string("a line")});
  }
  log(LogLevel::error, "nobody listens");
  CHECK(lines.size() == 1);
  CHECK_FALSE(log_enabled());
}

TEST_CASE("log: what was chosen, opened and closed") {
  const Recorded recorded;
  init_backend("cpu")->close();
  CHECK(logged("cpu: chose cpu:0"));
  CHECK(logged("cpu: opened"));
  CHECK(logged("cpu: closed"));
}

TEST_CASE("log: nothing per op") {
  const auto be = init_backend("cpu");
  const Buffer x = be->alloc(64);
  const Recorded recorded;
  be->unary(UnaryOp::neg, x, x, 16);
  be->free(be->alloc(64));
  be->synchronize();
  CHECK(lines.empty());
}

}  // namespace
}  // namespace tilewright
