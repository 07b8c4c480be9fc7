#pragma once

#include <array>
#include <limits>
#include <optional>
#include <span>

#include "core/any_float.hpp"
#include "core/call.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

// Scores of classes and the targets of their lines: what cross_entropy() and its gradient share.
namespace tilewright {

struct ClassLines {
  BufferRange scores, targets;
  BufferRange weights;  ///< may be null
  Size outer, classes, inner;
  std::uint32_t axis;  ///< of the classes, as the caller counts
  Size ignored;
  double smoothing;
  bool is_joined, is_mean;  ///< a mean is joined
  DType dtype, target_dtype;

  Size lines() const { return outer * inner; }
  Size elements() const { return outer * classes * inner; }

  void visit_values(const auto& visit) const {
    for (const Size size : {outer, classes, inner, ignored}) visit(size);
    visit(axis);
    visit(smoothing);
    visit(is_joined);
    visit(is_mean);
    visit(dtype);
    visit(target_dtype);
  }
};

inline void check_class_lines(const Call& call, ClassLines& r, Buffer scores, Buffer targets,
                              std::span<const Size> shape, Size axis, DType dtype,
                              DType target_dtype, std::optional<Buffer> weights, Size ignored,
                              double smoothing, std::optional<ReduceOp> reduction) {
  any_float(call, dtype);
  if (target_dtype != DType::int32 && target_dtype != DType::int64) {
    call.invalid(text("target_dtype is ", to_string(target_dtype), ", expected int32 or int64"));
  }
  if (!(smoothing >= 0 && smoothing <= 1)) {
    call.invalid(text("smoothing is ", smoothing, ", expected a number from 0 to 1"));
  }
  if (reduction) call.known("reduction", *reduction);
  if (reduction && *reduction != ReduceOp::sum && *reduction != ReduceOp::mean) {
    call.invalid(text("reduction is ", to_string(*reduction), ", expected sum or mean"));
  }
  call.shape("shape", shape);
  const std::size_t of_classes = call.axis(axis, shape);
  r.classes = shape[of_classes];
  call.positive("shape[axis]", r.classes);
  constexpr Size most = std::numeric_limits<std::int32_t>::max();
  if (r.classes > most) {
    call.invalid(text("shape[axis] is ", r.classes, ", expected at most ", most));
  }
  r.outer = call.product(shape.first(of_classes));
  r.inner = call.product(shape.subspan(of_classes + 1));
  const Size elements = call.product(shape);
  r.scores = call.buffer("scores", scores, elements, dtype);
  r.targets = call.buffer("targets", targets, elements / r.classes, target_dtype);
  if (weights) r.weights = call.buffer("weights", *weights, r.classes, dtype);
  r.axis = static_cast<std::uint32_t>(of_classes);
  r.ignored = ignored;
  r.smoothing = smoothing;
  r.is_joined = reduction.has_value();
  r.is_mean = reduction == ReduceOp::mean;
  r.dtype = dtype;
  r.target_dtype = target_dtype;
}

}  // namespace tilewright
