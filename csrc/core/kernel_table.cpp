#include "core/kernel_table.hpp"

#include <atomic>
#include <utility>

namespace tilewright {

namespace {
std::atomic<std::uint64_t> last_number{0};
}  // namespace

Kernel KernelTable::insert(KernelRef kernel) {
  const auto handle = static_cast<Kernel>(last_number.fetch_add(1, std::memory_order_relaxed) + 1);
  kernels_.emplace(handle, std::move(kernel));
  return handle;
}

KernelRef KernelTable::find(Kernel handle) const {
  const auto found = kernels_.find(handle);
  return found == kernels_.end() ? nullptr : found->second;
}

KernelRef KernelTable::remove(Kernel handle) noexcept {
  const auto found = kernels_.find(handle);
  if (found == kernels_.end()) return nullptr;
  KernelRef kernel = std::move(found->second);
  kernels_.erase(found);
  return kernel;
}

std::map<Kernel, KernelRef> KernelTable::remove_all() noexcept {
  return std::exchange(kernels_, {});
}

bool KernelTable::was_issued(Kernel handle) noexcept {
  return handle != Kernel::null &&
         static_cast<std::uint64_t>(handle) <= last_number.load(std::memory_order_relaxed);
}

}  // namespace tilewright
