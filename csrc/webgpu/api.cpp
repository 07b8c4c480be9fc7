#include "webgpu/api.hpp"

#include "core/dawn_library.hpp"
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

/// Looks up members of a table; look_up(name, member) sets one.
template <class LookUp>
void fill_common(Api& api, const LookUp& look_up) {
#define TILEWRIGHT_WEBGPU_LOOK_UP(name) look_up(#name, api.name);
  TILEWRIGHT_WEBGPU_CALLS(TILEWRIGHT_WEBGPU_LOOK_UP)
}
template <class LookUp>
void fill_wgpu(Api& api, const LookUp& look_up) {
  TILEWRIGHT_WGPU_CALLS(TILEWRIGHT_WEBGPU_LOOK_UP)
}
template <class LookUp>
void fill_dawn(Api& api,
               const LookUp& look_up){TILEWRIGHT_DAWN_CALLS(TILEWRIGHT_WEBGPU_LOOK_UP)
                                          TILEWRIGHT_DAWN_OWN_CALLS(TILEWRIGHT_WEBGPU_LOOK_UP)
#undef TILEWRIGHT_WEBGPU_LOOK_UP
}

Api open_wgpu() {
  note_driver();
  const auto set = environment("TILEWRIGHT_WGPU_LIBRARY");
  const std::string path = set ? *set : own_folder() + TILEWRIGHT_WGPU_NAME;
  const DynamicLibrary library(path);
  if (!library) {
    throw BackendUnavailable(
        text("webgpu: ", path, " cannot be opened (", library.error(), "); ",
             set ? "TILEWRIGHT_WGPU_LIBRARY names it: correct or unset it"
                 : "install tilewright again, or name another with TILEWRIGHT_WGPU_LIBRARY"));
  }
  Api api;
  std::string missing;
  const auto look_up = [&]<class Function>(const char* name, Function*& member) {
    member = library.function<Function>(text("wgpu", name).c_str());
    if (member == nullptr) missing += missing.empty() ? name : text(", ", name);
  };
  fill_common(api, look_up);
  fill_wgpu(api, look_up);
  if (!missing.empty()) {
    throw BackendUnavailable(text("webgpu: ", path, " lacks ", missing, "; expected wgpu-native ",
                                  TILEWRIGHT_WGPU_VERSION,
                                  ", unset TILEWRIGHT_WGPU_LIBRARY or name that version"));
  }
  const std::string version = version_text(api.GetVersion());
  if (version != TILEWRIGHT_WGPU_VERSION) {
    throw BackendUnavailable(text("webgpu: ", path, " is wgpu-native ", version,
                                  ", but this build needs ", TILEWRIGHT_WGPU_VERSION,
                                  "; unset TILEWRIGHT_WGPU_LIBRARY or name that version"));
  }
  api.name = text("wgpu-native ", version);
  api.path = path;
  api.SetLogCallback(
      [](WGPULogLevel level, WGPUStringView message, void*) {
        if (log_enabled()) log(level_of(level), text("wgpu-native: ", view(message)));
      },
      nullptr);
  api.SetLogLevel(WGPULogLevel_Warn);
  log(LogLevel::info, text("webgpu: opened ", path, ", ", api.name));
  return api;
}

Api open_dawn() {
  note_driver();
  if (const auto path = environment("TILEWRIGHT_DAWN_LIBRARY")) {
    constexpr const char* mend = "TILEWRIGHT_DAWN_LIBRARY names it: correct or unset it";
    const DynamicLibrary library(*path);
    if (!library) {
      throw BackendUnavailable(
          text("webgpu: ", *path, " cannot be opened (", library.error(), "); ", mend));
    }
    // wgpu-native has the call too, and ends the process in it.
    auto* const get_proc_address = library.function<dawn::GetProcAddress>("wgpuGetProcAddress");
    if (get_proc_address == nullptr || library.function<void()>("wgpuGetVersion") != nullptr) {
      throw BackendUnavailable(text(
          "webgpu: ", *path, " is no Dawn: it ",
          get_proc_address == nullptr ? "lacks wgpuGetProcAddress" : "is wgpu-native", "; ", mend));
    }
    return dawn_by(get_proc_address, text("Dawn ", *path));
  }
  const std::optional<DawnLibrary> given = given_dawn();
  if (!given || given->get_proc_address == nullptr) {
    throw BackendUnavailable(
        text("webgpu: ", given && !given->reason.empty()
                             ? given->reason
                             : "no Dawn was found; name a shared library of it with "
                               "TILEWRIGHT_DAWN_LIBRARY"));
  }
  Api api = dawn_by(reinterpret_cast<dawn::GetProcAddress*>(given->get_proc_address), given->name);
  api.enumerate_adapters = reinterpret_cast<dawn::EnumerateAdapters*>(given->enumerate_adapters);
  // A build that has this is one that the package names, of a version that it knows.
  api.has_cache = api.enumerate_adapters != nullptr;
  return api;
}

}  // namespace

Api dawn_by(dawn::GetProcAddress* get_proc_address, const std::string& name) {
  Api api;
  api.implementation = Implementation::dawn;
  api.name = name;
  std::string missing;
  const auto look_up = [&]<class Function>(const char* call, Function*& member) {
    const std::string whole = text("wgpu", call);
    member = reinterpret_cast<Function*>(get_proc_address(view(std::string_view(whole))));
    if (member == nullptr) missing += missing.empty() ? call : text(", ", call);
  };
  fill_common(api, look_up);
  fill_dawn(api, look_up);
  if (!missing.empty()) {
    throw BackendUnavailable(text("webgpu: ", name, " lacks ", missing,
                                  "; take the Dawn that pip install 'tilewright[dawn]' brings"));
  }
  log(LogLevel::info, text("webgpu: opened ", name));
  return api;
}

const Api& wgpu_native() {
  static const auto* table = new Api(open_wgpu());
  return *table;
}

const Api& dawn_api() {
  static const auto* table = new Api(open_dawn());
  return *table;
}

}  // namespace tilewright::webgpu
