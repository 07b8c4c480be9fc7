#include "core/environment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/environment_copy.hpp"
#include "scoped_environment.hpp"
#include "tilewright/error.hpp"

#if !defined(_WIN32)
#include <unistd.h>
#endif

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
  for (const char* yes : {"1", "true", "yes", "on", "True", "YES"}) {
    const ScopedEnvironment set(name, yes);
    CHECK(environment_flag(name, false));
  }
  for (const char* no : {"0", "false", "no", "off", "Off"}) {
    const ScopedEnvironment set(name, no);
    CHECK_FALSE(environment_flag(name, true));
  }
  const ScopedEnvironment set(name, "maybe");
  CHECK_THROWS_WITH_AS(environment_flag(name, true),
                       "TILEWRIGHT_TEST_VARIABLE is \"maybe\", expected 1 or 0", InvalidArgument);
}

TEST_CASE("environment: words in any case") {
  const auto word = [] { return environment_word(name, {"auto", "wgpu", "dawn"}); };
  const ScopedEnvironment unset(name, nullptr);
  CHECK_FALSE(word().has_value());
  for (const char* given : {"dawn", "Dawn", "DAWN"}) {
    const ScopedEnvironment set(name, given);
    CHECK(word() == "dawn");
  }
  const ScopedEnvironment set(name, "Vulkan");
  CHECK_THROWS_WITH_AS(word(),
                       "TILEWRIGHT_TEST_VARIABLE is \"Vulkan\", expected auto, wgpu or dawn",
                       InvalidArgument);
}

#if !defined(_WIN32)
/// The environment as a thread sees it that has begun to read it.
struct Reader {
  char** start = environ;
  std::vector<char*> entries = [] {
    std::vector<char*> all;
    for (char** entry = environ; *entry != nullptr; ++entry) all.push_back(*entry);
    all.push_back(nullptr);
    return all;
  }();
  bool sees_the_same() const { return std::equal(entries.begin(), entries.end(), start); }
};

TEST_CASE("environment: a copy holds more for a while, and changes nothing for those who read") {
  const ScopedEnvironment set(name, "before");
  constexpr const char* other = "TILEWRIGHT_TEST_ANOTHER";
  const Reader first;
  {
    const EnvironmentCopy copy({{name, "meanwhile"}, {other, "1"}});
    CHECK(environment(name) == "meanwhile");
    CHECK(environment(other) == "1");
    CHECK(environ != first.start);
    CHECK(first.sees_the_same());
  }
  CHECK(environ == first.start);
  CHECK(first.sees_the_same());
  CHECK(environment(name) == "before");
  CHECK_FALSE(environment(other).has_value());
  std::optional<Reader> of_copy;
  {
    const EnvironmentCopy copy(EnvironmentCopy::Variables{{name, "meanwhile"}});
    of_copy.emplace();
  }
  CHECK(of_copy->sees_the_same());
}

TEST_CASE("environment: what another thread sets while a copy stands stays") {
  constexpr const char* other = "TILEWRIGHT_TEST_ANOTHER";
  for (const char* before : {static_cast<const char*>(nullptr), "before"}) {
    const ScopedEnvironment set(name, before);
    const ScopedEnvironment others(other, before);
    {
      const EnvironmentCopy copy(EnvironmentCopy::Variables{{name, "meanwhile"}});
      setenv(other, "set", 1);
    }
    CHECK(environment(other) == "set");
    CHECK(environment(name).value_or("") == (before != nullptr ? before : ""));
  }
}
#endif

}  // namespace
}  // namespace tilewright
