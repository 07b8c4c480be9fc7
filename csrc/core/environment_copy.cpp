#include "core/environment_copy.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "core/environment.hpp"

#if defined(__APPLE__)
#include <crt_externs.h>
#elif !defined(_WIN32)
#include <unistd.h>
#endif

namespace tilewright {

namespace {

/// As the system does it: where the environment is guarded, or is another thread's doing already.
void set(const std::string& name, const std::optional<std::string>& value) {
#if defined(_WIN32)
  _putenv_s(name.c_str(), value ? value->c_str() : "");
#else
  if (value) {
    setenv(name.c_str(), value->c_str(), 1);
  } else {
    unsetenv(name.c_str());
  }
#endif
}

#if !defined(_WIN32)
std::atomic_ref<char**> current() {
#if defined(__APPLE__)
  return std::atomic_ref(*_NSGetEnviron());
#else
  return std::atomic_ref(environ);
#endif
}

bool names(const char* entry, std::string_view name) {
  return std::string_view(entry).starts_with(name) && entry[name.size()] == '=';
}

/// Memory for the rest of the process, which stays known.
template <class T>
T* lasting(std::size_t count) {
  static auto* const mutex = new std::mutex;
  static auto* const all = new std::vector<T*>;
  std::lock_guard lock(*mutex);
  return all->emplace_back(new T[count]);
}

char* new_entry(const std::string& name, const std::string& value) {
  const std::string text = name + "=" + value;
  return std::strcpy(lasting<char>(text.size() + 1), text.c_str());
}
#endif

}  // namespace

EnvironmentCopy::EnvironmentCopy(Variables variables) : variables_(std::move(variables)) {
  for (const auto& [name, value] : variables_) before_.push_back(environment(name.c_str()));
#if defined(_WIN32)
  for (const auto& [name, value] : variables_) set(name, value);
#else
  original_ = current().load();
  for (char** entry = original_; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::ranges::none_of(variables_, [&](const auto& v) { return names(*entry, v.first); })) {
      entries_.push_back(*entry);
    }
  }
  for (const auto& [name, value] : variables_) entries_.push_back(new_entry(name, value));
  entries_.push_back(nullptr);
  copy_ = lasting<char*>(entries_.size());
  std::ranges::copy(entries_, copy_);
  current().store(copy_);
#endif
}

EnvironmentCopy::~EnvironmentCopy() {
#if !defined(_WIN32)
  char** expected = copy_;
  if (std::equal(entries_.begin(), entries_.end(), copy_) &&
      current().compare_exchange_strong(expected, original_)) {
    return;
  }
  // Another thread has set a variable meanwhile, which stays.
#endif
  for (std::size_t i = 0; i < variables_.size(); ++i) set(variables_[i].first, before_[i]);
}

}  // namespace tilewright
