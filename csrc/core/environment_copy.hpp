#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// As long as it lives the environment holds these variables too, for a library that reads them
/// where it is loaded.
///
/// Other threads may read the environment at any time, and setenv() would move it under them. Here
/// a copy takes its place by one store and makes room for it again by another, and neither changes
/// what was there. The copy stays for whoever still reads it.
class EnvironmentCopy {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  explicit EnvironmentCopy(Variables variables);
  ~EnvironmentCopy();
  EnvironmentCopy(const EnvironmentCopy&) = delete;
  EnvironmentCopy& operator=(const EnvironmentCopy&) = delete;

 private:
  Variables variables_;
  std::vector<std::optional<std::string>> before_;  // of each variable
#if !defined(_WIN32)
  char** original_ = nullptr;
  char** copy_ = nullptr;
  std::vector<char*> entries_;  // what the copy held when it was made
#endif
};

}  // namespace tilewright
