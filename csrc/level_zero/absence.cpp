#include "level_zero/absence.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "core/dynamic_library.hpp"
#include "core/environment.hpp"
#include "core/text.hpp"
#include "level_zero/results.hpp"

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace tilewright::level_zero {

namespace {

constexpr int first_node = 128, last_node = 191;  // as Linux numbers render nodes
constexpr const char* intel = "0x8086";
#if defined(_WIN32)
constexpr const char* driver_library = "ze_intel_gpu64.dll";
#else
constexpr const char* driver_library = "libze_intel_gpu.so.1";
#endif

#if !defined(_WIN32)
std::vector<Surroundings::Node> intel_nodes(const std::string& drm, const std::string& dev) {
  std::vector<Surroundings::Node> nodes;
  for (int number = first_node; number <= last_node; ++number) {
    const std::string name = text("renderD", number);
    std::ifstream file(text(drm, "/", name, "/device/vendor"));
    std::string vendor;
    if (!(file >> vendor) || vendor != intel) continue;
    const std::string path = text(dev, "/", name);
    nodes.push_back(
        {path, access(path.c_str(), F_OK) == 0, access(path.c_str(), R_OK | W_OK) == 0});
  }
  return nodes;
}
#endif

std::vector<std::string> loaded_loaders() {
  std::vector<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path == std::string::npos) continue;
    const std::string_view file = std::string_view(line).substr(path);
    const bool ours = file.find("/libze_loader.so") != std::string_view::npos ||
                      file.find("/libze_validation_layer.so") != std::string_view::npos ||
                      file.find("/libze_tracing_layer.so") != std::string_view::npos;
    if (ours && std::ranges::find(files, file) == files.end()) files.emplace_back(file);
  }
  return files;
}

/// "1.8.0" of "/usr/lib/libze_loader.so.1.8.0".
std::string version_of(const std::string& file) {
  const std::size_t end = file.rfind(".so.");
  return end == std::string::npos ? "" : file.substr(end + 4);
}

/// Two of the files that are of different versions; empty where all are of one.
std::string mixture(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (version_of(file) != version_of(files.front())) {
      return text(files.front(), " and ", file);
    }
  }
  return {};
}

/// What is wrong with the GPUs themselves; empty where one can be used.
std::string why_no_node(const std::vector<Surroundings::Node>& nodes) {
  if (nodes.empty())
    return "this machine has no Intel GPU that its kernel knows of; use webgpu or cpu";
  if (std::ranges::any_of(nodes, &Surroundings::Node::usable)) return {};
  const auto closed = std::ranges::find_if(nodes, &Surroundings::Node::exists);
  if (closed != nodes.end()) {
    return text("this user has no permission to use ", closed->path,
                "; add the user to the group that owns it (often render) and log in again");
  }
  return text("the machine has an Intel GPU, but ", nodes.front().path,
              " is not there; a container has to be given /dev/dri");
}

std::string why_none_here(const Surroundings& around) {
  const std::string no_node = why_no_node(around.nodes);
  if (!no_node.empty()) return no_node;
  if (!around.driver_error.empty()) {
    return text("no Level Zero driver is installed for the Intel GPU (", around.driver_error,
                "); install it (Debian: libze-intel-gpu1 or intel-level-zero-gpu)");
  }
  return "Intel's driver is installed, but does not take this GPU or this version of the kernel; "
         "install the current driver";
}

}  // namespace

Surroundings look_around(const std::string& drm, const std::string& dev) {
  Surroundings around;
#if !defined(_WIN32)
  around.nodes = intel_nodes(drm, dev);
#else
  (void)drm, (void)dev;
#endif
  around.loaders = loaded_loaders();
  around.alternative_drivers = environment("ZE_ENABLE_ALT_DRIVERS").value_or("");
  around.driver_error = DynamicLibrary(driver_library).error();
  return around;
}

std::string why_no_driver(ze_result_t result, const Surroundings& around) {
  if (result != ZE_RESULT_ERROR_UNINITIALIZED) return failure_text("zeInit", result);
  std::string why = mixture(around.loaders);
  if (!why.empty()) {
    why = text("parts of two Level Zero loaders are mixed: ", why,
               "; remove one of them, or name the whole one with TILEWRIGHT_ZE_LIBRARY");
  } else if (!around.alternative_drivers.empty()) {
    why = text("ZE_ENABLE_ALT_DRIVERS is ", around.alternative_drivers,
               ", and the loader takes no driver from there; correct or unset it");
  } else {
    why = why_none_here(around);
  }
  return text("level-zero: no driver: ", why, " (zeInit gave ", name_of(result), ")");
}

std::string why_no_device(const Surroundings& around) {
  return text("level-zero: no device: ", why_none_here(around));
}

}  // namespace tilewright::level_zero
