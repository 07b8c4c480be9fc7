#pragma once

#include <cstdlib>

/// For a variable of a thread: it lies in the block that each thread starts with. The GNU C library
/// makes others at their first use, and ends the process where memory is out.
#if defined(__GLIBC__)
#define TILEWRIGHT_MADE_WITH_THREAD [[gnu::tls_model("initial-exec")]]
#else
#define TILEWRIGHT_MADE_WITH_THREAD
#endif
