#include "core/dynamic_library.hpp"

#include "core/files.hpp"
#include "core/text.hpp"

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace tilewright {

#if defined(_WIN32)

DynamicLibrary::DynamicLibrary(const std::string& path)
    : handle_(LoadLibraryExA(path.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)) {
  if (handle_ == nullptr) error_ = text("Windows error ", GetLastError());
}

void* DynamicLibrary::symbol(const char* name) const {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), name));
}

std::string own_folder() {
  HMODULE module = nullptr;
  char path[32768];
  if (!GetModuleHandleExA(
          GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
          reinterpret_cast<const char*>(&own_folder), &module)) {
    return {};
  }
  const std::string file(path, GetModuleFileNameA(module, path, sizeof path));
  return file.substr(0, file.find_last_of("\\/") + 1);
}

#else

DynamicLibrary::DynamicLibrary(const std::string& path) {
  // A name without a folder is the system's to find.
  if (path.find('/') != std::string::npos) error_ = no_file(path);
  if (!error_.empty()) return;
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* reason = dlerror();
    error_ = reason != nullptr ? reason : "no reason given";
  }
}

void* DynamicLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

std::string own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  const std::string file(info.dli_fname);
  return file.substr(0, file.rfind('/') + 1);
}

#endif

}  // namespace tilewright
