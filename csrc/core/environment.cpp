#include "core/environment.hpp"

#include <cerrno>
#include <cstdlib>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright {

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
  if (*value == "1" || *value == "true" || *value == "yes" || *value == "on") return true;
  if (*value == "0" || *value == "false" || *value == "no" || *value == "off") return false;
  throw InvalidArgument(text(name, " is \"", *value, "\", expected 1 or 0"));
}

}  // namespace tilewright
