#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/call.hpp"
#include "core/inline_vector.hpp"
#include "core/kept_requests.hpp"
#include "core/map_operands.hpp"
#include "core/program/program_data.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

// What the checks of map_reduce, scan and map_rows share.
namespace tilewright {

inline void check_counts(const Call& call, std::string_view program, std::string_view what,
                         std::size_t given, std::size_t expected) {
  if (given == expected) return;
  call.invalid(text(program, " has ", expected, " ", what, ", and ", given, " are given"));
}

inline std::vector<std::uint64_t> bits_of(const ProgramData& program,
                                          std::span<const Number> numbers, const Names& names) {
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::string made;
    all.push_back(numbers[i].bits(program.nodes[program.numbers[i]].dtype, names.of(i, made)));
  }
  return all;
}

/// Dimensions of a shape.
using Dims = InlineVector<std::size_t, max_rank>;

/// The operands of a call while they are checked: where they are, and their strides along all
/// dimensions of the shape.
class FoldOperands {
 public:
  FoldOperands(const Call& call, std::span<const Size> shape) : call_(call), shape_(shape) {
    constexpr std::size_t few = 4;
    operands_.reserve(few);
    places_.reserve(few);
    strides_.reserve(few * shape.size());
  }

  /// Along the dimensions of `along` alone.
  void add(std::string_view name, const MapOperand& operand, const Dims& along, DType dtype,
           bool is_output) {
    InlineVector<Size, max_rank> sizes;
    for (const std::size_t dim : along) sizes.push_back(shape_[dim]);
    const RowStrides rows(sizes);
    const bool whole = along.size() == shape_.size();
    const auto checked = check_operand(call_, name, operand, sizes, rows, dtype, is_output,
                                       whole ? "shape" : "what is left of shape");
    const std::size_t start = strides_.size();
    strides_.resize(start + shape_.size(), 0);
    const std::span<const Size> own = rows.of(operand);
    for (std::size_t i = 0; i < along.size(); ++i) strides_[start + along[i]] = own[i];
    operands_.push_back(checked ? checked->operand : MapRequest::Operand{nullptr, 0});
    if (!checked) return;
    reaches_.push_back(OperandReach::of(*checked, dtype));
    const Allocation* const allocation = checked->operand.allocation.get();
    for (const Named& other : places_) {
      if (!is_output || other.allocation != allocation || !checked->place.meets(other.at)) continue;
      call_.invalid(text(name, " (bytes ", checked->place.first, " to ", checked->place.past,
                         ") overlaps ", other.name, " (bytes ", other.at.first, " to ",
                         other.at.past, "); outputs must lie apart from all other operands"));
    }
    places_.push_back({std::string(name), checked->place, allocation});
  }
  const OperandReach& reach(std::size_t operand) const { return reaches_[operand]; }
  /// Walks a dimension from its end on.
  void reverse(std::size_t dim) {
    for (std::size_t o = 0; o < operands_.size(); ++o) {
      operands_[o].offset += (shape_[dim] - 1) * strides(o)[dim];
      strides_[o * shape_.size() + dim] *= -1;
    }
  }

  /// The dimensions of more than one element, those along which the operands lie closest last.
  Dims ordered(const Dims& all) const {
    Dims dims;
    for (const std::size_t dim : all) {
      if (shape_[dim] != 1) dims.push_back(dim);
    }
    const auto moves = [&](std::size_t operand) {
      return std::ranges::any_of(dims, [&](std::size_t dim) { return strides(operand)[dim] != 0; });
    };
    // Of the inputs first, then of the others.
    std::size_t first = 0;
    while (first < operands_.size() && !moves(first)) ++first;
    if (first == operands_.size()) return dims;
    const auto size = [&](std::size_t dim) {
      const Size stride = strides(first)[dim];
      return stride < 0 ? -stride : stride;
    };
    // As they mostly are: sorting takes memory of its own.
    if (!std::ranges::is_sorted(dims, std::greater{}, size)) {
      std::ranges::stable_sort(dims, std::greater{}, size);
    }
    return dims;
  }
  /// Appends the dimensions to those of the request, neighbours joined where they can be.
  template <class Request>
  void append(Request& r, const Dims& dims) {
    std::size_t added = 0;
    for (const std::size_t dim : dims) {
      const auto follows = [&] {
        for (std::size_t o = 0; o < operands_.size(); ++o) {
          if (strides(o)[last_.back()] != strides(o)[dim] * shape_[dim]) return false;
        }
        return true;
      };
      if (added > 0 && follows()) {
        last_.back() = dim;
        joined_.back() *= shape_[dim];
        continue;
      }
      ++added;
      last_.push_back(dim);
      joined_.push_back(shape_[dim]);
    }
    r.rank = last_.size();
  }
  /// The operands from one on, over these dimensions alone; the last ones are outputs.
  MapRequest map(std::size_t from, std::size_t outputs, const Dims& all) const {
    Dims dims;
    for (const std::size_t dim : all) {
      if (shape_[dim] != 1) dims.push_back(dim);
    }
    MapRequest r;
    r.operands.assign(operands_.begin() + static_cast<std::ptrdiff_t>(from), operands_.end());
    r.same_as.assign(r.operands.size() - outputs, MapRequest::no_output);
    r.rank = std::max<std::size_t>(dims.size(), 1);
    for (const std::size_t dim : dims) r.sizes.push_back(shape_[dim]);
    for (std::size_t o = from; o < operands_.size(); ++o) {
      for (const std::size_t dim : dims) r.sizes.push_back(strides(o)[dim]);
    }
    if (dims.empty()) r.sizes.assign(1 + r.operands.size(), 1);
    return r;
  }
  template <class Request>
  void give_to(Request& r) {
    const std::size_t count = operands_.size();
    r.operands = std::move(operands_);
    r.sizes.reserve((1 + count) * joined_.size());
    r.sizes.assign(joined_.begin(), joined_.end());
    for (std::size_t o = 0; o < count; ++o) {
      for (const std::size_t dim : last_) r.sizes.push_back(strides(o)[dim]);
    }
  }

 private:
  struct Named {
    std::string name;
    Place at;
    const Allocation* allocation;
  };

  std::span<const Size> strides(std::size_t operand) const {
    return std::span(strides_).subspan(operand * shape_.size(), shape_.size());
  }

  const Call& call_;
  const std::span<const Size> shape_;
  std::vector<MapRequest::Operand> operands_;
  // Of usual calls all but what the request takes lies here.
  std::array<std::byte, 1024> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<Size> strides_{&memory_};  // of each operand along all dimensions
  std::pmr::vector<Named> places_{&memory_};
  std::pmr::vector<OperandReach> reaches_{&memory_};
  Dims last_;  // the dimensions of those that are joined into each
  InlineVector<Size, max_rank> joined_;
};

/// For each dimension of the shape, whether it is one of the axes, which may count from the end.
inline InlineVector<bool, max_rank> reduced_dimensions(const Call& call,
                                                       std::span<const Size> shape,
                                                       std::span<const Size> axes) {
  const auto rank = static_cast<Size>(shape.size());
  InlineVector<bool, max_rank> reduced;
  for (std::size_t i = 0; i < shape.size(); ++i) reduced.push_back(false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Size axis = axes[i];
    if (axis < -rank || axis >= rank) {
      call.invalid(text("axes[", i, "] is ", axis, ", expected ", -rank, " to ", rank - 1,
                        " for a shape of ", rank, " dimensions"));
    }
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    if (reduced[at]) call.invalid(text("axes[", i, "] is ", axis, ", which is there already"));
    reduced[at] = true;
  }
  return reduced;
}

/// The dimensions of a shape: all, those that stay, and those that are reduced.
struct SplitDimensions {
  Dims all, kept, gone;
};
/// With how many results the request has, and how many elements of each.
template <class Request>
SplitDimensions split_dimensions(const Call& call, std::span<const Size> shape,
                                 const InlineVector<bool, max_rank>& reduced, Request& r) {
  SplitDimensions split;
  InlineVector<Size, max_rank> kept_shape, gone_shape;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    split.all.push_back(dim);
    (reduced[dim] ? split.gone : split.kept).push_back(dim);
    (reduced[dim] ? gone_shape : kept_shape).push_back(shape[dim]);
  }
  r.results = call.product(kept_shape);
  r.length = call.product(gone_shape);
  if (r.results != 0) call.mul(r.results, r.length);
  return split;
}

}  // namespace tilewright
