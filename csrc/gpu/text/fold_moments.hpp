#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "gpu/text/kernel_builder.hpp"

namespace tilewright::gpu {

/// What moments of some elements are kept as, lane by lane: their sum, an element, how far their
/// mean is off that, the squares of what they are off the mean, and their number. Means by
/// themselves would be rounded as numbers of their size are, and squares of their differences
/// would show that.
struct Moments {
  static constexpr std::uint32_t numbers = 5;
  enum Number : std::uint8_t { total, element, off, squares, count };

  KernelBuilder::Quad& operator[](std::size_t i) { return values[i]; }
  const KernelBuilder::Quad& operator[](std::size_t i) const { return values[i]; }

  std::array<KernelBuilder::Quad, numbers> values{};
};

/// What is computed of moments. Lanes without elements have a number of 0, and some element.
class MomentsWriter {
 public:
  using Quad = KernelBuilder::Quad;

  MomentsWriter(KernelBuilder& builder, DType dtype)
      : b_(builder),
        dtype_(dtype),
        zero_(b_.constant(dtype, 0)),
        one_(constant(1)),
        // Of a number of 0 the inverse would be infinite.
        least_(constant(1e-30)) {}

  /// Of no elements.
  Moments none(Quad element) const { return {{zero_, element, zero_, zero_, zero_}}; }

  /// With some more elements, those of each lane as two passes have them.
  Moments with(const Moments& all, std::span<const Quad> values, std::span<const Quad> ours) {
    Quad total = all[Moments::total], sum = zero_, count = zero_, squares = zero_;
    std::vector<Quad> off;
    for (std::size_t i = 0; i < values.size(); ++i) {
      total = plus(total, chosen(ours[i], values[i], zero_));
      off.push_back(chosen(ours[i], minus(values[i], all[Moments::element]), zero_));
      sum = i == 0 ? off[i] : plus(sum, off[i]);
      const Quad one = chosen(ours[i], one_, zero_);
      count = i == 0 ? one : plus(count, one);
    }
    const Quad mean = over(sum, plus(count, least_));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Quad rest = less(off[i], mean);
      const Quad square = chosen(ours[i], times(rest, rest), zero_);
      squares = i == 0 ? square : plus(squares, square);
    }
    return joined(all, total, less(mean, all[Moments::off]), squares, count);
  }

  Moments joined(const Moments& a, const Moments& b) {
    const Quad apart = plus(minus(b[Moments::element], a[Moments::element]),
                            less(b[Moments::off], a[Moments::off]));
    return joined(a, plus(a[Moments::total], b[Moments::total]), apart, b[Moments::squares],
                  b[Moments::count]);
  }

  /// Without the sum and number where they are not of the launch.
  Moments masked(const Moments& all, Quad ours) {
    Moments made = all;
    for (const Moments::Number i : {Moments::total, Moments::squares, Moments::count}) {
      made[i] = chosen(ours, all[i], zero_);
    }
    return made;
  }

  Moments rotated(const Moments& all, std::uint32_t by) {
    Moments made;
    for (std::size_t i = 0; i < Moments::numbers; ++i) made[i] = b_.rotated(all[i], by);
    return made;
  }

  Quad mean(const Moments& all) {
    return apply(ElementOp::div_, {all[Moments::total], all[Moments::count]});
  }

  /// One of the row's elements where a lane has none: that of the first lane, which always is one.
  /// With 0 added, so that compilers do not take an element off itself: infinities give NaN there.
  Quad element_of(Quad value, Quad ours) {
    return apply(ElementOp::add_, {chosen(ours, value, b_.spread(value, 0)), zero_});
  }

 private:
  /// `a` with elements whose mean is `apart` from its own.
  Moments joined(const Moments& a, Quad total, Quad apart, Quad squares, Quad count) {
    const Quad all = plus(a[Moments::count], count);
    const Quad share = over(count, plus(all, least_));
    const Quad between = times(times(apart, times(a[Moments::count], share)), apart);
    return {{total, a[Moments::element], plus(a[Moments::off], times(apart, share)),
             plus(plus(a[Moments::squares], squares), between), all}};
  }

  Quad constant(double value) const {
    const bool is_single = class_of(dtype_) == ComputeClass::f32;
    return b_.constant(dtype_, is_single ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                         : std::bit_cast<std::uint64_t>(value));
  }
  Quad apply(ElementOp op, std::initializer_list<Quad> operands) {
    return b_.apply(op, dtype_, dtype_, std::span(operands.begin(), operands.size()));
  }
  Quad plus(Quad a, Quad b) { return b_.joined(ElementOp::add_, dtype_, a, b); }
  Quad times(Quad a, Quad b) { return b_.joined(ElementOp::mul_, dtype_, a, b); }
  Quad less(Quad a, Quad b) { return b_.joined(ElementOp::sub_, dtype_, a, b); }
  Quad over(Quad a, Quad b) { return b_.joined(ElementOp::div_, dtype_, a, b); }
  /// Of elements, which no compiler may add to others first.
  Quad minus(Quad a, Quad b) { return apply(ElementOp::sub_, {a, b}); }
  Quad chosen(Quad flags, Quad a, Quad b) { return apply(ElementOp::where_, {flags, a, b}); }

  KernelBuilder& b_;
  const DType dtype_;
  const Quad zero_, one_, least_;
};

}  // namespace tilewright::gpu
