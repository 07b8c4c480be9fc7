#pragma once

#include <array>
#include <optional>

#include "core/call.hpp"
#include "core/class_lines.hpp"
#include "core/requests.hpp"

namespace tilewright {

struct CrossEntropyRequest : ClassLines {
  BufferRange losses;

  static void operands(auto& r, const auto& visit) {
    visit(r.scores, Access::read);
    visit(r.targets, Access::read);
    visit(r.weights, Access::read);
    visit(r.losses, Access::write);
  }
  static void values(const CrossEntropyRequest& r, const auto& visit) { r.visit_values(visit); }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    constexpr std::array<Size, 2> shape{2, 4};
    be.cross_entropy(q.x[0], q.x[1], q.x[2], shape, 1, q.dtype);
  }
};

inline std::optional<CrossEntropyRequest> checked_cross_entropy(
    const Call& call, Buffer scores, Buffer targets, Buffer losses, std::span<const Size> shape,
    Size axis, DType dtype, DType target_dtype, std::optional<Buffer> weights, Size ignored,
    double smoothing, std::optional<ReduceOp> reduction) {
  CrossEntropyRequest r{};
  check_class_lines(call, r, scores, targets, shape, axis, dtype, target_dtype, weights, ignored,
                    smoothing, reduction);
  r.losses = call.buffer("losses", losses, reduction ? 1 : r.lines(), dtype);
  call.apart("losses", r.losses, "scores", r.scores);
  call.apart("losses", r.losses, "targets", r.targets);
  call.apart("losses", r.losses, "weights", r.weights);
  if (r.lines() == 0 && !reduction) return std::nullopt;
  return r;
}

}  // namespace tilewright
