#include "webgpu/api.hpp"

#include "core/dynamic_library.hpp"
#include "core/environment.hpp"
#include "core/fork.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::webgpu {

namespace {

std::string version_text(std::uint32_t version) {
  return text(version >> 24, ".", (version >> 16) & 255, ".", (version >> 8) & 255, ".",
              version & 255);
}

LogLevel level_of(WGPULogLevel level) {
  switch (level) {
    case WGPULogLevel_Error:
      return LogLevel::error;
    case WGPULogLevel_Warn:
      return LogLevel::warning;
    default:
      return LogLevel::debug;
  }
}

Api open() {
  note_driver();
  const auto set = environment("TILEWRIGHT_WGPU_LIBRARY");
  Api api;
  api.path = set ? *set : own_folder() + TILEWRIGHT_WGPU_NAME;
  const DynamicLibrary library(api.path);
  if (!library) {
    throw BackendUnavailable(
        text("webgpu: ", api.path, " cannot be opened (", library.error(), "); ",
             set ? "TILEWRIGHT_WGPU_LIBRARY names it: correct or unset it"
                 : "install tilewright again, or name another with TILEWRIGHT_WGPU_LIBRARY"));
  }
  std::string missing;
#define TILEWRIGHT_WGPU_LOOK_UP(name)                                \
  api.name = library.function<decltype(::wgpu##name)>("wgpu" #name); \
  if (api.name == nullptr) missing += missing.empty() ? #name : ", " #name;
  TILEWRIGHT_WGPU_CALLS(TILEWRIGHT_WGPU_LOOK_UP)
#undef TILEWRIGHT_WGPU_LOOK_UP
  if (!missing.empty()) {
    throw BackendUnavailable(text("webgpu: ", api.path, " lacks ", missing,
                                  "; expected wgpu-native ", TILEWRIGHT_WGPU_VERSION,
                                  ", unset TILEWRIGHT_WGPU_LIBRARY or name that version"));
  }
  api.version = version_text(api.GetVersion());
  if (api.version != TILEWRIGHT_WGPU_VERSION) {
    throw BackendUnavailable(text("webgpu: ", api.path, " is wgpu-native ", api.version,
                                  ", but this build needs ", TILEWRIGHT_WGPU_VERSION,
                                  "; unset TILEWRIGHT_WGPU_LIBRARY or name that version"));
  }
  api.SetLogCallback(
      [](WGPULogLevel level, WGPUStringView message, void*) {
        if (log_enabled()) log(level_of(level), text("wgpu-native: ", view(message)));
      },
      nullptr);
  api.SetLogLevel(WGPULogLevel_Warn);
  log(LogLevel::info, text("webgpu: opened ", api.path, ", wgpu-native ", api.version));
  return api;
}

}  // namespace

const Api& api() {
  static const auto* table = new Api(open());
  return *table;
}

}  // namespace tilewright::webgpu
