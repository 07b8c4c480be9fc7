#pragma once

#include <array>
#include <optional>

#include "core/call.hpp"
#include "core/class_lines.hpp"
#include "core/requests.hpp"

namespace tilewright {

struct EntropyGradientRequest : ClassLines {
  BufferRange grad;  ///< may be null
  BufferRange grad_scores;
  double factor;

  static void operands(auto& r, const auto& visit) {
    visit(r.scores, Access::read);
    visit(r.targets, Access::read);
    visit(r.weights, Access::read);
    visit(r.grad, Access::read);
    visit(r.grad_scores, Access::write);
  }
  static void values(const EntropyGradientRequest& r, const auto& visit) {
    r.visit_values(visit);
    visit(r.factor);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    constexpr std::array<Size, 2> shape{2, 4};
    be.cross_entropy_backward(q.x[0], q.x[1], q.x[2], shape, 1, q.dtype);
  }
};

inline std::optional<EntropyGradientRequest> checked_cross_entropy_backward(
    const Call& call, Buffer scores, Buffer targets, Buffer grad_scores,
    std::span<const Size> shape, Size axis, DType dtype, DType target_dtype,
    std::optional<Buffer> weights, Size ignored, double smoothing,
    std::optional<ReduceOp> reduction, std::optional<Buffer> grad, double factor) {
  EntropyGradientRequest r{};
  check_class_lines(call, r, scores, targets, shape, axis, dtype, target_dtype, weights, ignored,
                    smoothing, reduction);
  r.grad_scores = call.buffer("grad_scores", grad_scores, r.elements(), dtype);
  if (grad) r.grad = call.buffer("grad", *grad, reduction ? 1 : r.lines(), dtype);
  call.apart("grad_scores", r.grad_scores, "scores", r.scores);
  call.apart("grad_scores", r.grad_scores, "targets", r.targets);
  call.apart("grad_scores", r.grad_scores, "weights", r.weights);
  call.apart("grad_scores", r.grad_scores, "grad", r.grad);
  r.factor = factor;
  if (r.lines() == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
