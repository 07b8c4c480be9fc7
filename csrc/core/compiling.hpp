#pragma once

#include "tilewright/export.hpp"

namespace tilewright {

/// Stands while a driver compiles a kernel. Drivers' compilers are taken apart where the process
/// ends, and a thread that is still in one then crashes.
class Compiling {
 public:
  Compiling() noexcept;
  ~Compiling();
  Compiling(const Compiling&) = delete;
  Compiling& operator=(const Compiling&) = delete;
};

/// Whether a thread of this process is in a driver's compiler.
TILEWRIGHT_API bool is_compiling() noexcept;

}  // namespace tilewright
