#include "core/dawn_library.hpp"

#include <atomic>
#include <memory>

namespace tilewright {

namespace {

/// Kept to the end of the process, since what it names is. No lock, which a fork could catch held.
std::atomic<const DawnLibrary*> given{nullptr};

}  // namespace

bool is_webgpu_implementation(std::string_view name) {
  return name == "auto" || name == "wgpu" || name == "dawn";
}

std::optional<DawnLibrary> given_dawn() {
  const DawnLibrary* const dawn = given.load(std::memory_order_acquire);
  return dawn == nullptr ? std::nullopt : std::optional(*dawn);
}

void set_dawn(const DawnLibrary& dawn) {
  auto kept = std::make_unique<const DawnLibrary>(dawn);
  const DawnLibrary* nobody = nullptr;
  if (given.compare_exchange_strong(nobody, kept.get(), std::memory_order_acq_rel)) {
    (void)kept.release();
  }
}

}  // namespace tilewright
