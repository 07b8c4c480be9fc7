#pragma once

#include "core/thread_memory.hpp"
#include "tilewright/export.hpp"

namespace tilewright {

/// Changes in a forked child, where nothing of the parent's devices may be used.
TILEWRIGHT_API unsigned fork_generation();

/// A GPU's driver is being loaded. What drivers register to run at exit waits for their threads,
/// which a forked child does not have: it then crashes or hangs. So a child that is forked from now
/// on leaves out all that was registered before it was.
void note_driver() noexcept;

/// Stands while this thread is in the core, where a driver may fork, for a program of its own. Such
/// a fork waits for no call, and the child is no place for backends.
class InCore {
 public:
  InCore() noexcept { ++depth_; }
  ~InCore() { --depth_; }
  InCore(const InCore&) = delete;
  InCore& operator=(const InCore&) = delete;

  /// Whether this thread is.
  static bool is_here() noexcept { return depth_ > 0; }

 private:
  TILEWRIGHT_MADE_WITH_THREAD static constinit thread_local int depth_;
};

}  // namespace tilewright
