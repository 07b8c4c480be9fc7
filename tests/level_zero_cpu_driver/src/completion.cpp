#include "completion.hpp"

namespace ze_cpu {

void Completion::announce() {
  if (waiting_ == 0) return;
  {
    const std::lock_guard lock(mutex_);
  }
  changed_.notify_all();
}

Completion& completion() {
  static Completion* const instance = new Completion;
  return *instance;
}

}  // namespace ze_cpu
