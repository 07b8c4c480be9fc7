#include "core/environment.hpp"

#include <doctest/doctest.h>

#include "scoped_environment.hpp"
#include "tilewright/error.hpp"

namespace tilewright {
namespace {

constexpr const char* name = "TILEWRIGHT_TEST_VARIABLE";

TEST_CASE("environment: unset and empty are nothing") {
  const ScopedEnvironment unset(name, nullptr);
  CHECK_FALSE(environment(name).has_value());
  CHECK_FALSE(environment_number(name, 0, 9).has_value());
  CHECK(environment_flag(name, true));
  CHECK_FALSE(environment_flag(name, false));
  const ScopedEnvironment empty(name, "");
  CHECK_FALSE(environment(name).has_value());
  CHECK_FALSE(environment_number(name, 0, 9).has_value());
  CHECK(environment_flag(name, true));
}

TEST_CASE("environment: text") {
  const ScopedEnvironment set(name, "webgpu:1");
  CHECK(environment(name) == "webgpu:1");
}

TEST_CASE("environment: whole numbers within their range") {
  for (const auto& [text, number] : {std::pair{"1", 1}, {"8", 8}, {"-3", -3}, {"08", 8}}) {
    const ScopedEnvironment set(name, text);
    CHECK(environment_number(name, -3, 8) == number);
  }
  for (const char* wrong : {"9", "-4", "2.5", "2x", "x", "0x4", "99999999999999999999"}) {
    CAPTURE(wrong);
    const ScopedEnvironment set(name, wrong);
    const std::string message = std::string("TILEWRIGHT_TEST_VARIABLE is \"") + wrong +
                                "\", expected a whole number from -3 to 8";
    CHECK_THROWS_WITH_AS(environment_number(name, -3, 8), message.c_str(), InvalidArgument);
  }
}

TEST_CASE("environment: blanks are no number") {
  const ScopedEnvironment set(name, " ");
  CHECK_THROWS_AS(environment_number(name, 0, 8), InvalidArgument);
}

TEST_CASE("environment: flags") {
  for (const char* yes : {"1", "true", "yes", "on"}) {
    const ScopedEnvironment set(name, yes);
    CHECK(environment_flag(name, false));
  }
  for (const char* no : {"0", "false", "no", "off"}) {
    const ScopedEnvironment set(name, no);
    CHECK_FALSE(environment_flag(name, true));
  }
  const ScopedEnvironment set(name, "maybe");
  CHECK_THROWS_WITH_AS(environment_flag(name, true),
                       "TILEWRIGHT_TEST_VARIABLE is \"maybe\", expected 1 or 0", InvalidArgument);
}

}  // namespace
}  // namespace tilewright
