#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

/// The value of an environment variable; nothing where it is unset or empty.
std::optional<std::string> environment(const char* name);

/// As a whole number within [low, high]; throws InvalidArgument naming the variable.
std::optional<long long> environment_number(const char* name, long long low, long long high);

/// 1/0, true/false, yes/no, on/off, in any case; throws InvalidArgument naming the variable.
bool environment_flag(const char* name, bool otherwise);

/// One of these words, given in any case; throws InvalidArgument naming the variable and them.
std::optional<std::string> environment_word(const char* name,
                                            std::initializer_list<std::string_view> words);

}  // namespace tilewright
