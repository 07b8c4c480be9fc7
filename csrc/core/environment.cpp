#include "core/environment.hpp"

#include <cerrno>
#include <cstdlib>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright {

namespace {

std::string in_lower_case(std::string word) {
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
  }
  return word;
}

}  // namespace

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

std::optional<long long> environment_number(const char* name, long long low, long long high) {
  const auto value = environment(name);
  if (!value) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(value->c_str(), &end, 10);
  if (errno != 0 || *end != '\0' || number < low || number > high) {
    throw InvalidArgument(
        text(name, " is \"", *value, "\", expected a whole number from ", low, " to ", high));
  }
  return number;
}

bool environment_flag(const char* name, bool otherwise) {
  const auto value = environment(name);
  if (!value) return otherwise;
  const std::string word = in_lower_case(*value);
  if (word == "1" || word == "true" || word == "yes" || word == "on") return true;
  if (word == "0" || word == "false" || word == "no" || word == "off") return false;
  throw InvalidArgument(text(name, " is \"", *value, "\", expected 1 or 0"));
}

std::optional<std::string> environment_word(const char* name,
                                            std::initializer_list<std::string_view> words) {
  const auto value = environment(name);
  if (!value) return std::nullopt;
  const std::string given = in_lower_case(*value);
  std::string expected;
  for (const std::string_view& word : words) {
    if (given == word) return given;
    const bool is_last = &word + 1 == words.end();
    expected += text(expected.empty() ? "" : is_last ? " or " : ", ", word);
  }
  throw InvalidArgument(text(name, " is \"", *value, "\", expected ", expected));
}

}  // namespace tilewright
