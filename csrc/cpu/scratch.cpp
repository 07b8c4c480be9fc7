#include "cpu/scratch.hpp"

#include <algorithm>

#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

OpScratch::OpScratch(MemoryPool& pool, std::string_view op, std::size_t floats, std::size_t tasks) {
  if (floats == 0) return;
  const std::size_t each = Scratch::rounded(floats);
  const std::size_t bytes = each * sizeof(float);
  const auto parts = static_cast<std::size_t>(std::clamp<std::uint64_t>(
      pool.scratch_room() / bytes, 1, std::clamp<std::size_t>(tasks, 1, thread_count())));
  block_ = pool.scratch(op, parts * bytes);
  free_.reserve(parts);
  for (std::size_t i = 0; i < parts; ++i) free_.push_back(data<float>(block_) + i * each);
}

float* OpScratch::take() {
  if (!block_) return nullptr;
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return !free_.empty(); });
  float* const part = free_.back();
  free_.pop_back();
  return part;
}

void OpScratch::put_back(float* part) {
  if (part == nullptr) return;
  {
    std::lock_guard lock(mutex_);
    free_.push_back(part);
  }
  returned_.notify_one();
}

}  // namespace tilewright::cpu
