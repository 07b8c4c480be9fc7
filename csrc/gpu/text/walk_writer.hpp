#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gpu/text/fold_form.hpp"
#include "gpu/text/kernel_builder.hpp"

namespace tilewright::gpu {

/// What kernels are written with whose work-items walk the rows of a shape: the dimensions that are
/// kept, along which there is one row after another, and those of a row.
class WalkWriter {
 protected:
  using Word = KernelBuilder::Word;
  using Flag = KernelBuilder::Flag;
  using Quad = KernelBuilder::Quad;
  using Variable = KernelBuilder::Variable;
  using Local = KernelBuilder::Local;
  using Arithmetic = KernelBuilder::Arithmetic;
  /// An operand's parameters.
  struct Strided {
    Word start{};
    std::vector<Word> strides;
  };

  Word word(std::uint32_t value) { return b_->word(value); }
  Word add(Word a, Word b) { return b_->arithmetic(Arithmetic::add, a, b); }
  Word subtract(Word a, Word b) { return b_->arithmetic(Arithmetic::subtract, a, b); }
  Word times(Word a, Word b) { return b_->arithmetic(Arithmetic::multiply, a, b); }
  Word divide(Word a, Word b) { return b_->arithmetic(Arithmetic::divide, a, b); }
  Word remainder(Word a, Word b) { return b_->arithmetic(Arithmetic::remainder, a, b); }
  Word least(Word a, Word b) { return b_->select(b_->less(a, b), a, b); }
  Quad apply(ElementOp op, DType dtype, DType result, std::initializer_list<Quad> operands) {
    return b_->apply(op, dtype, result, std::span(operands.begin(), operands.size()));
  }
  Quad u32(ElementOp op, Quad a, Quad b) { return apply(op, DType::uint32, DType::uint32, {a, b}); }
  Quad below(Quad a, Quad b) {
    return apply(ElementOp::less_, DType::uint32, DType::boolean, {a, b});
  }
  Quad choose(DType dtype, Quad flags, Quad a, Quad b) {
    return apply(ElementOp::where_, dtype, dtype, {flags, a, b});
  }

  static constexpr std::uint32_t lanes = 4;

  // Parameters, in this order.
  void take_shape(std::uint32_t kept, std::uint32_t reduced) {
    kept_count_ = kept;
    reduced_ = reduced;
    for (std::uint32_t d = 0; d < kept + reduced; ++d) shape_.push_back(b_->parameter());
  }
  /// With `whole` along all dimensions, else along the kept ones.
  void take_operands(const std::vector<FoldOperand>& operands, bool whole) {
    for (const FoldOperand& o : operands) {
      Strided strided;
      if (o.walk != FoldWalk::none && o.walk != FoldWalk::parts) {
        strided.start = b_->parameter();
        const std::uint32_t dims = whole && o.walk != FoldWalk::row ? reduced_ : 0;
        for (std::uint32_t d = 0; d < kept_count_ + dims; ++d) {
          strided.strides.push_back(b_->parameter());
        }
      }
      strided_.push_back(std::move(strided));
    }
  }

  /// The row that this work-item is at, by its number.
  void take_row(Word row) {
    Word rest = row;
    kept_.resize(kept_count_);
    for (std::size_t d = kept_count_; d-- > 0;) {
      kept_[d] = d > 0 ? remainder(rest, shape_[d]) : rest;
      if (d > 0) rest = divide(rest, shape_[d]);
    }
    four_ = b_->lanes();
  }
  /// Of the next operand, where its row starts.
  void add_base(const FoldOperand& o, Word row) {
    bases_.push_back(o.walk == FoldWalk::parts ? row : base_of(strided_[bases_.size()]));
  }
  Word base_of(const Strided& operand) {
    if (operand.strides.empty() && operand.start == Word{}) return Word{};
    Word place = operand.start;
    for (std::size_t d = 0; d < kept_.size(); ++d) {
      place = add(place, times(kept_[d], operand.strides[d]));
    }
    return place;
  }

  /// Where an operand has the four elements from k on, each kept below the end.
  Quad places_of(std::size_t at, const FoldOperand& o, Quad k) {
    const Quad base = b_->quad(bases_[at]);
    if (o.walk == FoldWalk::parts) {
      return u32(ElementOp::add_, base, u32(ElementOp::mul_, k, b_->quad(results_)));
    }
    Quad place = base, rest = k;
    for (std::size_t d = reduced_; d-- > 0;) {
      const Quad size = b_->quad(shape_[kept_count_ + d]);
      const Quad index = d > 0 ? u32(ElementOp::remainder_, rest, size) : rest;
      if (d > 0) rest = u32(ElementOp::floor_divide_, rest, size);
      const Quad stride = b_->quad(strided_[at].strides[kept_count_ + d]);
      place = u32(ElementOp::add_, place, u32(ElementOp::mul_, index, stride));
    }
    return place;
  }
  /// The same of a quad that lies on its size.
  Word place_of(std::size_t at, Word k) {
    Word place = bases_[at], rest = k;
    for (std::size_t d = reduced_; d-- > 0;) {
      const Word size = shape_[kept_count_ + d];
      const Word index = d > 0 ? remainder(rest, size) : rest;
      if (d > 0) rest = divide(rest, size);
      place = add(place, times(index, strided_[at].strides[kept_count_ + d]));
    }
    return place;
  }

  Quad joined(Reduction by, DType dtype, Quad a, Quad b) {
    const ElementOp op = by == Reduction::sum    ? ElementOp::add_
                         : by == Reduction::prod ? ElementOp::mul_
                         : by == Reduction::max  ? ElementOp::max_
                                                 : ElementOp::min_;
    return b_->joined(op, dtype, a, b);
  }

  std::unique_ptr<KernelBuilder> b_;
  std::uint32_t kept_count_ = 0, reduced_ = 0;  ///< dimensions
  Word results_{};                              ///< rows
  std::vector<Word> shape_, kept_, bases_;
  std::vector<Strided> strided_;
  Quad four_{};
};

}  // namespace tilewright::gpu
