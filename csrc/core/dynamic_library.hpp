#pragma once

#include <string>

namespace tilewright {

/// A library opened at run time. Its symbols stay its own: they resolve nothing elsewhere in the
/// process. Never closed, since libraries of this kind leave threads and handlers behind.
class DynamicLibrary {
 public:
  /// Empty when it cannot be opened; error() then has the system's reason.
  explicit DynamicLibrary(const std::string& path);

  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }

  /// The function of this name, or null.
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string error_;
};

/// The folder of the file that this code was loaded from, with the separator at its end; empty
/// where the system does not say.
std::string own_folder();

}  // namespace tilewright
