#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "gpu/device.hpp"

namespace tilewright::gpu {

/// The kernels that ship with the library, each in the file of its name, and the files that those
/// include: the build lists csrc/kernels/wgsl.
enum class KernelId : std::uint8_t {
#define KERNEL(name) name,
#include "gpu/kernel_names.def"
#undef KERNEL
};

/// Pipelines of the shipped kernels, compiled at first use and kept. A variant number names what
/// the template's variables are; who asks for a new one is asked for the variables once. While one
/// compiles, others can be used and compiled; who asks for the same waits for it.
class KernelLibrary {
 public:
  /// Without `keep` each use of a kernel compiles it again.
  KernelLibrary(Device& device, bool keep) : device_(device), keep_(keep) {}

  /// fill(TemplateVariables&) sets the variables of this variant.
  template <class Fill>
  const Pipeline& get(KernelId id, std::uint32_t variant, const Fill& fill) {
    const std::uint64_t wanted = key(id, variant);
    const Kept* kept = shortcut(wanted).load(std::memory_order_acquire);
    if (kept != nullptr && kept->key == wanted) return *kept->ready.load(std::memory_order_relaxed);
    return find_or_compile(id, variant, fill);
  }

 private:
  template <class Fill>
  [[gnu::noinline]] const Pipeline& find_or_compile(KernelId id, std::uint32_t variant,
                                                    const Fill& fill) {
    if (const Pipeline* found = keep_ ? find(key(id, variant)) : nullptr) return *found;
    TemplateVariables variables;
    fill(variables);
    return compile(id, variant, std::move(variables));
  }
  static std::uint64_t key(KernelId id, std::uint32_t variant) {
    return (std::uint64_t{static_cast<std::uint8_t>(id)} << 32) | variant;
  }
  struct Kept {
    explicit Kept(std::uint64_t key) : key(key) {}
    const std::uint64_t key;
    std::mutex compiling;
    std::shared_ptr<Pipeline> pipeline;           // set under `compiling`
    std::atomic<const Pipeline*> ready{nullptr};  // the same, once it is there
  };
  /// Where a kernel that was used lately is found without a lock.
  std::atomic<const Kept*>& shortcut(std::uint64_t key) {
    return shortcuts_[(key * 0x9e3779b97f4a7c15u) >> (64 - shortcut_bits)];
  }
  const Pipeline* find(std::uint64_t key);
  Kept& entry(std::uint64_t key);
  KernelDescription describe(std::string_view name, TemplateVariables variables);
  const Pipeline& compile(KernelId id, std::uint32_t variant, TemplateVariables variables);

  Device& device_;
  const bool keep_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Kept> pipelines_;  // which stay where they are
  /// Without keeping: what each thread uses until it asks for the next.
  std::map<std::thread::id, std::shared_ptr<Pipeline>> latest_;
  static constexpr int shortcut_bits = 8;
  std::array<std::atomic<const Kept*>, 1 << shortcut_bits> shortcuts_{};
};

}  // namespace tilewright::gpu
