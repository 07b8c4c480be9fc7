#include "tilewright/error.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include "tilewright/version.hpp"

namespace tilewright {
namespace {

template <class Derived, class Base>
void holds() {
  CHECK_THROWS_WITH_AS(throw Derived("why"), "why", Base);
}

TEST_CASE("errors: each is caught as what it is a kind of") {
  holds<NotInitialized, Error>();
  holds<InvalidArgument, Error>();
  holds<Unsupported, Error>();
  holds<DeviceError, Error>();
  holds<DeviceLost, DeviceError>();
  holds<KernelError, DeviceError>();
  holds<BackendUnavailable, DeviceError>();
  holds<BackendUnavailable, std::runtime_error>();
  static_assert(std::is_base_of_v<Error, OutOfMemory>);
  static_assert(!std::is_base_of_v<DeviceError, OutOfMemory>);
  static_assert(!std::is_base_of_v<DeviceError, InvalidArgument>);
  CHECK(OutOfMemory("full", 42).requested_bytes() == 42);
}

TEST_CASE("version: library and header agree, and the header with itself") {
  CHECK(std::string(version()) == TILEWRIGHT_VERSION);
  CHECK(std::string(TILEWRIGHT_VERSION) == std::to_string(TILEWRIGHT_VERSION_MAJOR) + "." +
                                               std::to_string(TILEWRIGHT_VERSION_MINOR) + "." +
                                               std::to_string(TILEWRIGHT_VERSION_PATCH));
}

}  // namespace
}  // namespace tilewright
