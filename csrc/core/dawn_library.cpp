#include "core/dawn_library.hpp"

#include <mutex>

#include "core/environment.hpp"

namespace tilewright {

namespace {

struct Given {
  std::mutex mutex;
  std::optional<DawnLibrary> dawn;
};

/// Kept to the end of the process, since what it names is.
Given& given() {
  static auto* one = new Given;
  return *one;
}

}  // namespace

bool is_webgpu_implementation(std::string_view name) {
  return name == "auto" || name == "wgpu" || name == "dawn";
}

std::optional<DawnLibrary> given_dawn() {
  const std::lock_guard lock(given().mutex);
  return given().dawn;
}

void set_dawn(const DawnLibrary& dawn) {
  const std::lock_guard lock(given().mutex);
  if (!given().dawn) given().dawn = dawn;
}

}  // namespace tilewright
