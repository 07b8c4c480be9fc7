#pragma once

#include <mutex>

#include "core/program/kept_rewrites.hpp"
#include "core/requests.hpp"

namespace tilewright::cpu {

/// The programs of both sums that moments are, as they were lately made.
class MomentsRewrites {
 public:
  struct Programs {
    ProgramRef quotient, square, behind;
  };
  Programs of(const FoldRequest& r, DType dtype);

 private:
  std::mutex mutex_;
  KeptRewrites kept_;
};

}  // namespace tilewright::cpu
