#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/backend.hpp"
#include "tilewright/device.hpp"
#include "tilewright/export.hpp"

namespace tilewright {

/// The names of all backends, also of those that this build or machine lacks. Wherever a name or a
/// device's id is asked for it may be in any case, with _ for -: "WebGPU", "level_zero:1".
TILEWRIGHT_API std::vector<std::string> backend_names();

/// Every device that every backend can see. Creates no context and never throws; a device that
/// cannot be used says why in its `reason`. A backend without any device is one entry, not
/// available.
TILEWRIGHT_API std::vector<DeviceInfo> devices();

/// Whether a device of this backend can be opened now: opens one, the first that can be, and closes
/// it again. A software GPU counts, although none is picked by itself.
TILEWRIGHT_API bool is_available(std::string_view name);

/// A Dawn, the WebGPU library besides wgpu-native, that the process has or lacks.
struct DawnLibrary {
  std::string name;                  ///< what it comes from, with its version
  void* get_proc_address = nullptr;  ///< its wgpuGetProcAddress
  /// Its wgpu_dawn_enumerate_adapters, which some builds add: without it one GPU of each kind and
  /// API is found.
  void* enumerate_adapters = nullptr;
  std::string reason;  ///< why there is none, and what to do; empty where there is
};

/// Says where Dawn is, once, before webgpu is first looked at. TILEWRIGHT_DAWN_LIBRARY, the path of
/// a shared library, goes before it. The Python package calls this with what the package wgpudawn
/// has.
TILEWRIGHT_API void set_dawn(const DawnLibrary& dawn);

/// Whether to look at the devices that a preference and a configuration mean takes a Dawn that
/// nobody has named yet.
TILEWRIGHT_API bool lacks_dawn(std::string_view preference, const Config& config = {});

/// An initialised backend.
///
/// preference is "auto", a backend's name or a device's id. "auto" takes the best hardware: a
/// discrete GPU before an integrated one, for the same GPU the vendor's own API before webgpu, else
/// the CPU. A software GPU is never picked by itself unless TILEWRIGHT_ALLOW_SOFTWARE=1.
/// TILEWRIGHT_DEVICE replaces "auto". A named preference works or throws; it never falls back.
TILEWRIGHT_API std::shared_ptr<Backend> init_backend(std::string_view preference = "auto",
                                                     const Config& config = {});

/// A backend by name, not yet initialised: every op throws NotInitialized until init().
TILEWRIGHT_API std::shared_ptr<Backend> make_backend(std::string_view name,
                                                     const Config& config = {});

}  // namespace tilewright
