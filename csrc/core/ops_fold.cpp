#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/call.hpp"
#include "core/map_operands.hpp"
#include "core/program/program_data.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

// map_reduce and scan: one request for both.
namespace tilewright {

namespace {

void check_counts(const Call& call, std::string_view program, std::string_view what,
                  std::size_t given, std::size_t expected) {
  if (given == expected) return;
  call.invalid(text(program, " has ", expected, " ", what, ", and ", given, " are given"));
}

std::vector<std::uint64_t> bits_of(const ProgramData& program, std::span<const Number> numbers,
                                   const Names& names) {
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::string made;
    all.push_back(numbers[i].bits(program.nodes[program.numbers[i]].dtype, names.of(i, made)));
  }
  return all;
}

/// The operands of a call while they are checked: where they are, and their strides along all
/// dimensions of the shape.
class Operands {
 public:
  Operands(const Call& call, std::span<const Size> shape) : call_(call), shape_(shape) {}

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
  void append(FoldRequest& r, std::span<const std::size_t> dims) {
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
  void give_to(FoldRequest& r) {
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

std::string axes_message(Size axis, Size rank) {
  return text("is ", axis, ", expected ", -rank, " to ", rank - 1, " for a shape of ", rank,
              " dimensions");
}

/// What elements are joined as: the front with an output of a class that has the op.
ProgramRef front_of(const Call& call, const ProgramRef& program, Reduction& op) {
  const bool truth = op == Reduction::any || op == Reduction::all;
  const bool is_bool = program->output_dtype() == DType::boolean;
  if (is_bool && (op == Reduction::sum || op == Reduction::prod)) {
    call.invalid(text("the program gives bool, which ", to_string(op),
                      " does not take; cast it to the integer to count in, or take any or all"));
  }
  if (op == Reduction::any) op = Reduction::max;
  if (op == Reduction::all) op = Reduction::min;
  const ProgramRef front = truth ? cast_output(program, DType::boolean) : program;
  return truth || is_bool ? cast_output(front, DType::uint32) : front;
}

/// With its first input as the class of the result has it.
ProgramRef behind_of(const ProgramRef& program, DType result) {
  return result == DType::float32 ? widen_input(program) : cast_input(program, result);
}

}  // namespace

void Backend::map_reduce(const Program& program, Reduction op, std::span<const Size> shape,
                         std::span<const Size> axes, std::span<const MapOperand> inputs,
                         std::span<const Number> numbers, std::span<const MapOperand> outputs,
                         const Program* behind, std::span<const MapOperand> behind_inputs,
                         std::span<const Number> behind_numbers) {
  static const Names input_names("inputs"), output_names("outputs"), behind_names("behind_inputs"),
      number_names("map_reduce: numbers"), behind_number_names("map_reduce: behind_numbers");
  Call call(*state_, "map_reduce");
  call.known("op", op);
  const ProgramRef& front = program.data();
  check_counts(call, "the program", "inputs", inputs.size(), front->inputs.size());
  check_counts(call, "the program", "numbers", numbers.size(), front->numbers.size());
  if (front->outputs.size() != 1) {
    call.invalid(text("the program has ", front->outputs.size(),
                      " outputs, expected one, which is reduced"));
  }
  call.shape("shape", shape);
  const auto rank = static_cast<Size>(shape.size());
  std::vector<bool> reduced(shape.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Size axis = axes[i];
    if (axis < -rank || axis >= rank) {
      call.invalid(text("axes[", i, "] ", axes_message(axis, rank)));
    }
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    if (reduced[at]) call.invalid(text("axes[", i, "] is ", axis, ", which is there already"));
    reduced[at] = true;
  }

  FoldRequest r;
  r.call = "map_reduce";
  r.op = op;
  r.front = front_of(call, front, r.op);
  const bool truth = op == Reduction::any || op == Reduction::all;
  const bool place = r.finds_place();
  const DType result = truth ? DType::boolean : front->output_dtype();
  if (behind != nullptr) {
    const ProgramRef& given = behind->data();
    check_counts(call, "behind", "inputs, the first of which is the result,",
                 behind_inputs.size() + 1, given->inputs.size());
    check_counts(call, "behind", "numbers", behind_numbers.size(), given->numbers.size());
    const DType taken = given->nodes[given->inputs[0]].dtype;
    if (place ? taken != DType::int64 && taken != DType::int32 : taken != result) {
      call.invalid(text("the first input of behind is ", to_string(taken), ", expected ",
                        place ? "int64 or int32" : to_string(result), ", what ", to_string(op),
                        " gives"));
    }
    r.behind = given;
  } else {
    check_counts(call, "behind, which is none,", "inputs", behind_inputs.size(), 0);
    check_counts(call, "behind, which is none,", "numbers", behind_numbers.size(), 0);
    r.behind = identity_program(place ? DType::int64 : result);
  }
  check_counts(call, behind != nullptr ? "behind" : "the program", "outputs", outputs.size(),
               r.behind->outputs.size());
  if (outputs.empty()) call.invalid("behind has no output; give it one with output()");
  r.numbers = bits_of(*front, numbers, number_names);
  r.behind_numbers = bits_of(*r.behind, behind_numbers, behind_number_names);

  std::vector<std::size_t> all, kept, gone;
  std::vector<Size> kept_shape, gone_shape;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    all.push_back(dim);
    (reduced[dim] ? gone : kept).push_back(dim);
    (reduced[dim] ? gone_shape : kept_shape).push_back(shape[dim]);
  }
  r.results = call.product(kept_shape);
  r.length = call.product(gone_shape);
  if (r.results != 0) call.mul(r.results, r.length);
  Operands operands(call, shape);
  std::string made;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operands.add(input_names.of(i, made), inputs[i], all, front->nodes[front->inputs[i]].dtype,
                 false);
  }
  for (std::size_t i = 0; i < behind_inputs.size(); ++i) {
    operands.add(behind_names.of(i, made), behind_inputs[i], kept,
                 r.behind->nodes[r.behind->inputs[i + 1]].dtype, false);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    operands.add(output_names.of(i, made), outputs[i], kept, r.behind->output_dtype(i), true);
  }
  if (r.results == 0) return;
  constexpr Size most_places = std::numeric_limits<std::uint32_t>::max();
  if (place && r.length >= most_places) {
    call.invalid(text(to_string(op), " finds a place among ", r.length,
                      " elements, expected less than ", most_places, "; reduce parts of them"));
  }
  if (r.length == 0) {
    const bool has_identity = truth || r.op == Reduction::sum || r.op == Reduction::prod;
    if (!has_identity) {
      call.invalid(text(to_string(op), " of no elements: shape has none along the axes"));
    }
    // A map of what there is to it.
    const std::uint64_t bits = truth ? (op == Reduction::all ? 1 : 0)
                                     : Number(op == Reduction::prod).bits(result, "the result");
    call.checked();
    MapRequest map = operands.map(inputs.size(), outputs.size(), kept);
    map.program = bind_input(r.behind, bits);
    map.numbers = r.behind_numbers;
    map.n = r.results;
    return do_map(map);
  }
  call.checked();

  if (place) {
    r.behind = behind != nullptr ? cast_input(r.behind, DType::uint32) : nullptr;
  } else {
    r.behind = behind_of(r.behind, dtype_of(class_of(r.front->output_dtype())));
  }
  const auto ordered_kept = operands.ordered(kept, inputs.size());
  operands.append(r, ordered_kept);
  r.kept = r.rank;
  if (place) {
    std::erase_if(gone, [&](std::size_t dim) { return shape[dim] == 1; });
    operands.append(r, gone);
  } else {
    operands.append(r, operands.ordered(gone, inputs.size()));
  }
  operands.give_to(r);
  if (!r.behind) {
    // The two words of an int64, which devices without 64-bit integers have too.
    Program words;
    const auto low = words.input(DType::uint32);
    words.output(low);
    words.output(words.constant(0, DType::uint32));
    r.behind = words.data();
    MapRequest::Operand& output = r.operands.back();
    output.offset *= 2;
    r.operands.push_back({output.allocation, output.offset + 1});
    const std::size_t strides = r.sizes.size() - r.rank;
    for (std::size_t d = 0; d < r.rank; ++d) r.sizes[strides + d] *= 2;
    for (std::size_t d = 0; d < r.rank; ++d) r.sizes.push_back(r.sizes[strides + d]);
  }
  do_map_reduce(r);
}

void Backend::scan(const Program& program, ScanOp op, std::span<const Size> shape, Size axis,
                   std::span<const MapOperand> inputs, std::span<const Number> numbers,
                   const MapOperand& output, bool exclusive, bool reverse) {
  static const Names input_names("inputs"), number_names("scan: numbers");
  Call call(*state_, "scan");
  call.known("op", op);
  const ProgramRef& front = program.data();
  check_counts(call, "the program", "inputs", inputs.size(), front->inputs.size());
  check_counts(call, "the program", "numbers", numbers.size(), front->numbers.size());
  if (front->outputs.size() != 1) {
    call.invalid(text("the program has ", front->outputs.size(),
                      " outputs, expected one, which is scanned"));
  }
  call.shape("shape", shape);
  const std::size_t along = call.axis(axis, shape);
  constexpr std::array<Reduction, 4> reductions{Reduction::sum, Reduction::prod, Reduction::max,
                                                Reduction::min};
  FoldRequest r;
  r.call = "scan";
  r.op = reductions[static_cast<std::size_t>(op)];
  r.scan = true;
  r.exclusive = exclusive;
  r.front = front_of(call, front, r.op);
  r.behind = behind_of(identity_program(front->output_dtype()),
                       dtype_of(class_of(r.front->output_dtype())));
  r.numbers = bits_of(*front, numbers, number_names);
  std::vector<std::size_t> all, kept;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    all.push_back(dim);
    if (dim != along) kept.push_back(dim);
  }
  const Size n = call.product(shape);
  Operands operands(call, shape);
  std::string made;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operands.add(input_names.of(i, made), inputs[i], all, front->nodes[front->inputs[i]].dtype,
                 false);
  }
  operands.add("output", output, all, front->output_dtype(), true);
  if (n == 0) return;
  call.checked();
  if (reverse) operands.reverse(along);
  r.length = shape[along];
  r.results = n / r.length;
  const auto ordered_kept = operands.ordered(kept, inputs.size());
  operands.append(r, ordered_kept);
  r.kept = r.rank;
  const std::array<std::size_t, 1> last{along};
  operands.append(r, last);
  operands.give_to(r);
  do_scan(r);
}

}  // namespace tilewright
