#include "signal.hpp"

namespace ze_cpu {

void Trouble::keep(const Failure& failure) {
  const std::lock_guard lock(mutex_);
  failure_ = failure;
}

void Trouble::forget() {
  const std::lock_guard lock(mutex_);
  failure_.reset();
}

void Trouble::raise() {
  const std::lock_guard lock(mutex_);
  if (!failure_) return;
  const Failure failure = *failure_;
  failure_.reset();
  throw failure;
}

void Signal::set() {
  set_ = true;
  completion().announce();
}

void Signal::reset() {
  trouble.forget();
  set_ = false;
}

ze_result_t Signal::wait(uint64_t nanoseconds) {
  const ze_result_t result = wait_unless_lost(nanoseconds, [this] { return is_set(); });
  if (result == ZE_RESULT_SUCCESS) trouble.raise();
  return result;
}

}  // namespace ze_cpu
