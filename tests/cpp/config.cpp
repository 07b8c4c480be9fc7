#include <doctest/doctest.h>

#include "recording_backend.hpp"
#include "tilewright/registry.hpp"

namespace tilewright {
namespace {

void refused(const Config& config, const char* message) {
  CHECK_THROWS_WITH_AS(RecordingBackend{config}, message, InvalidArgument);
}

TEST_CASE("config: every value that makes no sense is refused by name") {
  refused({.adapter_index = -1}, "recording: adapter_index is -1, expected 0 or more");
  refused({.power_preference = "medium"},
          "recording: power_preference is \"medium\", expected \"low\" or \"high\"");
  refused({.max_buffer_size = 0}, "recording: max_buffer_size is 0, expected 1 or more");
  refused({.max_binding_size = 65535},
          "recording: max_binding_size is 65535, expected 65536 or more");
  refused({.preferred_workgroup_size = 0},
          "recording: preferred_workgroup_size is 0, expected 1 or more");
  refused({.compute_units = 0}, "recording: compute_units is 0, expected 1 or more");
  refused({.compute_units = 1 << 17}, "recording: compute_units is 131072, expected at most 65536");
  refused({.memory_limit = -7}, "recording: memory_limit is -7, expected 1 or more");
}

TEST_CASE("config: what makes sense is kept") {
  for (const char* power : {"", "low", "high"}) {
    const RecordingBackend be({.adapter_index = 0, .power_preference = power});
    CHECK(be.config().power_preference == power);
    CHECK(be.config().adapter_index == 0);
  }
  const RecordingBackend be({.max_buffer_size = 1, .memory_limit = most});
  CHECK(be.config().max_buffer_size == 1);
  CHECK(be.memory_stats().limit_bytes == be.memory_limit);
}

TEST_CASE("config: the CPU backend has one device") {
  CHECK_THROWS_WITH_AS(make_backend("cpu", {.adapter_index = 1})->init(),
                       "cpu: adapter_index is 1, but there is only 0", BackendUnavailable);
  CHECK_NOTHROW(make_backend("cpu", {.adapter_index = 0})->init());
}

}  // namespace
}  // namespace tilewright
