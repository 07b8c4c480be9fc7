#pragma once

#include <optional>
#include <string>

namespace tilewright {

/// The value of an environment variable; nothing where it is unset or empty.
std::optional<std::string> environment(const char* name);

/// As a whole number within [low, high]; throws InvalidArgument naming the variable.
std::optional<long long> environment_number(const char* name, long long low, long long high);

/// 1/0, true/false, yes/no, on/off; throws InvalidArgument naming the variable.
bool environment_flag(const char* name, bool otherwise);

}  // namespace tilewright
