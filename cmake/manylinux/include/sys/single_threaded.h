#pragma once

// glibc has this header from 2.32 on and libstdc++ includes it where it is found; zig's copy is an
// error for an older glibc. Without the variable, a program counts as one with threads.
static constexpr char __libc_single_threaded = 0;
