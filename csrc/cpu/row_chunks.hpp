#pragma once

#include <algorithm>
#include <cstddef>

#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

/// A row in as many chunks as threads are worth it, and `needed` at least.
class RowChunks {
 public:
  explicit RowChunks(std::size_t n, std::size_t least = 1 << 15, std::size_t needed = 1)
      : count(std::max(std::clamp<std::size_t>(n / least, 1, thread_count()), needed)), n_(n) {}
  std::size_t begin(std::size_t i) const { return n_ * i / count; }
  std::size_t end(std::size_t i) const { return n_ * (i + 1) / count; }
  template <class Body>
  void each(const Body& body) const {
    if (count == 1) return body(std::size_t{0});
    parallel_tasks(count, body);
  }

  const std::size_t count;

 private:
  const std::size_t n_;
};

}  // namespace tilewright::cpu
