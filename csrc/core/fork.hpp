#pragma once

#include "tilewright/export.hpp"

namespace tilewright {

/// Changes in a forked child, where nothing of the parent's devices may be used.
TILEWRIGHT_API unsigned fork_generation();

/// A GPU's driver is being loaded. What drivers register to run at exit waits for their threads,
/// which a forked child does not have: it then crashes or hangs. So a child that is forked from now
/// on leaves out all that was registered before it was.
void note_driver() noexcept;

}  // namespace tilewright
