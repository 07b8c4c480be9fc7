#include "cpu/op_times.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace tilewright::cpu {

void OpTimes::begin() {
  std::lock_guard lock(mutex_);
  running_.store(true, std::memory_order_relaxed);
}

void OpTimes::add(std::string name, Clock::time_point start, Clock::time_point end) noexcept {
  std::lock_guard lock(mutex_);
  // An op that was still running as its profile ended belongs to no other one.
  if (!running_.load(std::memory_order_relaxed)) return;
  try {
    ops_.push_back({std::move(name), start, end});
  } catch (const std::bad_alloc&) {
    // Without memory the record is lost, not the op.
  }
}

std::vector<OpTimes::Op> OpTimes::stop() noexcept {
  std::lock_guard lock(mutex_);
  running_.store(false, std::memory_order_relaxed);
  return std::exchange(ops_, {});
}

void OpTimes::forget() noexcept { stop(); }

Profile OpTimes::end() {
  std::vector<Op> ops = stop();
  std::ranges::stable_sort(ops, {}, &Op::start);
  const auto nanoseconds = [](Clock::duration time) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
  };
  Profile profile;
  profile.launches.reserve(ops.size());
  for (Op& op : ops) {
    profile.launches.push_back({std::move(op.name),
                                nanoseconds(op.start - ops.front().start),
                                nanoseconds(op.end - op.start),
                                {1, 1, 1}});
  }
  return profile;
}

}  // namespace tilewright::cpu
