#include "level_zero/api.hpp"

#include "core/dynamic_library.hpp"
#include "core/environment.hpp"
#include "core/fork.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::level_zero {

namespace {

#if defined(_WIN32)
constexpr const char* system_loader = "ze_loader.dll";
#else
constexpr const char* system_loader = "libze_loader.so.1";
#endif

Api open() {
  note_driver();
  const auto set = environment("TILEWRIGHT_ZE_LIBRARY");
  Api api;
  api.path = set ? *set : system_loader;
  const DynamicLibrary library(api.path);
  if (!library) {
    throw BackendUnavailable(
        text("level-zero: the Level Zero loader ", api.path, " cannot be opened (", library.error(),
             "); ",
             set ? "TILEWRIGHT_ZE_LIBRARY names it: correct or unset it"
                 : "it comes with the driver of an Intel GPU: install that, or name the loader "
                   "with TILEWRIGHT_ZE_LIBRARY"));
  }
  std::string missing;
#define TILEWRIGHT_ZE_LOOK_UP(name)                     \
  api.name = library.function<calls::name>("ze" #name); \
  if (api.name == nullptr) missing += missing.empty() ? "ze" #name : ", ze" #name;
  TILEWRIGHT_ZE_CALLS(TILEWRIGHT_ZE_LOOK_UP)
#undef TILEWRIGHT_ZE_LOOK_UP
  if (!missing.empty()) {
    throw BackendUnavailable(text("level-zero: ", api.path, " is no Level Zero loader, it lacks ",
                                  missing, "; ",
                                  set ? "unset TILEWRIGHT_ZE_LIBRARY or name a loader with it"
                                      : "install the loader anew (Debian: libze1)"));
  }
#define TILEWRIGHT_ZE_LOOK_UP(name) api.name = library.function<calls::name>("ze" #name);
  TILEWRIGHT_ZE_LATER_CALLS(TILEWRIGHT_ZE_LOOK_UP)
#undef TILEWRIGHT_ZE_LOOK_UP
  // It came to loaders with them.
  api.has_in_order_lists = library.function<void()>("zeCommandListHostSynchronize") != nullptr;
  log(LogLevel::info, text("level-zero: opened ", api.path));
  return api;
}

}  // namespace

const Api& api() {
  static const auto* table = new Api(open());
  return *table;
}

}  // namespace tilewright::level_zero
