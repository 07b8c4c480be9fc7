#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "core/requests.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

/// Handles to compiled kernels, numbers that no other kernel of this process has. Not synchronised:
/// the owner holds a lock.
class KernelTable {
 public:
  Kernel insert(KernelRef kernel);
  /// The kernel, or null for a handle that is not live here.
  KernelRef find(Kernel handle) const;
  /// Takes it out of the table; null for a handle that is not live here.
  KernelRef remove(Kernel handle) noexcept;
  /// Takes all out.
  std::map<Kernel, KernelRef> remove_all() noexcept;
  /// Whether the handle was ever given out by some table of this process.
  static bool was_issued(Kernel handle) noexcept;

 private:
  std::map<Kernel, KernelRef> kernels_;
};

}  // namespace tilewright
