#pragma once

namespace tilewright {

/// Changes in a forked child, where nothing of the parent's devices may be used.
unsigned fork_generation();

}  // namespace tilewright
