#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/call.hpp"
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

/// The operands of a call while they are checked: where they are, and their strides along all
/// dimensions of the shape.
class FoldOperands {
 public:
  FoldOperands(const Call& call, std::span<const Size> shape) : call_(call), shape_(shape) {}

  /// Along the dimensions of `along` alone.
  void add(std::string_view name, const MapOperand& operand, std::span<const std::size_t> along,
           DType dtype, bool is_output) {
    std::vector<Size> sizes;
    for (const std::size_t dim : along) sizes.push_back(shape_[dim]);
    const RowStrides rows(sizes);
    const bool whole = along.size() == shape_.size();
    const auto checked = check_operand(call_, name, operand, sizes, rows, dtype, is_output,
                                       whole ? "shape" : "what is left of shape");
    std::vector<Size> strides(shape_.size(), 0);
    for (std::size_t i = 0; i < along.size(); ++i) strides[along[i]] = rows.of(operand)[i];
    strides_.push_back(std::move(strides));
    operands_.push_back(checked ? checked->operand : MapRequest::Operand{nullptr, 0});
    if (!checked) return;
    const Named place{std::string(name), checked->place, checked->operand.allocation.get(),
                      is_output};
    for (const Named& other : places_) {
      if (!is_output || other.allocation != place.allocation || !place.at.meets(other.at)) continue;
      call_.invalid(text(name, " (bytes ", place.at.first, " to ", place.at.past, ") overlaps ",
                         other.name, " (bytes ", other.at.first, " to ", other.at.past,
                         "); outputs must lie apart from all other operands"));
    }
    places_.push_back(place);
  }
  /// Walks a dimension from its end on.
  void reverse(std::size_t dim) {
    for (std::size_t o = 0; o < operands_.size(); ++o) {
      operands_[o].offset += (shape_[dim] - 1) * strides_[o][dim];
      strides_[o][dim] = -strides_[o][dim];
    }
  }

  /// The dimensions of more than one element, those along which the operands lie closest last.
  std::vector<std::size_t> ordered(std::vector<std::size_t> dims, std::size_t inputs) const {
    std::erase_if(dims, [&](std::size_t dim) { return shape_[dim] == 1; });
    const auto moves = [&](const std::vector<Size>& strides) {
      return std::ranges::any_of(dims, [&](std::size_t dim) { return strides[dim] != 0; });
    };
    const auto end = strides_.begin() + static_cast<std::ptrdiff_t>(inputs);
    auto first = std::find_if(strides_.begin(), end, moves);
    if (first == end) first = std::find_if(end, strides_.end(), moves);
    if (first == strides_.end()) return dims;
    const auto size = [&](std::size_t dim) {
      const Size stride = (*first)[dim];
      return stride < 0 ? -stride : stride;
    };
    std::ranges::stable_sort(dims, std::greater{}, size);
    return dims;
  }
  /// Appends the dimensions to those of the request, neighbours joined where they can be.
  template <class Request>
  void append(Request& r, std::span<const std::size_t> dims) {
    std::size_t added = 0;
    for (const std::size_t dim : dims) {
      const auto follows = [&](const std::vector<Size>& strides) {
        return strides[last_.back()] == strides[dim] * shape_[dim];
      };
      if (added > 0 && std::ranges::all_of(strides_, follows)) {
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
  MapRequest map(std::size_t from, std::size_t outputs, std::vector<std::size_t> dims) const {
    std::erase_if(dims, [&](std::size_t dim) { return shape_[dim] == 1; });
    MapRequest r;
    r.operands.assign(operands_.begin() + static_cast<std::ptrdiff_t>(from), operands_.end());
    r.same_as.assign(r.operands.size() - outputs, MapRequest::no_output);
    r.rank = std::max<std::size_t>(dims.size(), 1);
    for (const std::size_t dim : dims) r.sizes.push_back(shape_[dim]);
    for (std::size_t o = from; o < operands_.size(); ++o) {
      for (const std::size_t dim : dims) r.sizes.push_back(strides_[o][dim]);
    }
    if (dims.empty()) r.sizes.assign(1 + r.operands.size(), 1);
    return r;
  }
  template <class Request>
  void give_to(Request& r) {
    r.operands = std::move(operands_);
    r.sizes = joined_;
    for (const std::vector<Size>& strides : strides_) {
      for (const std::size_t dim : last_) r.sizes.push_back(strides[dim]);
    }
  }

 private:
  struct Named {
    std::string name;
    Place at;
    const Allocation* allocation;
    bool is_output;
  };

  const Call& call_;
  const std::span<const Size> shape_;
  std::vector<MapRequest::Operand> operands_;
  std::vector<std::vector<Size>> strides_;
  std::vector<Named> places_;
  std::vector<std::size_t> last_;  // the dimensions of those that are joined into each
  std::vector<Size> joined_;
};

/// For each dimension of the shape, whether it is one of the axes, which may count from the end.
inline std::vector<bool> reduced_dimensions(const Call& call, std::span<const Size> shape,
                                            std::span<const Size> axes) {
  const auto rank = static_cast<Size>(shape.size());
  std::vector<bool> reduced(shape.size());
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
  std::vector<std::size_t> all, kept, gone;
};
/// With how many results the request has, and how many elements of each.
template <class Request>
SplitDimensions split_dimensions(const Call& call, std::span<const Size> shape,
                                 const std::vector<bool>& reduced, Request& r) {
  SplitDimensions split;
  std::vector<Size> kept_shape, gone_shape;
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
