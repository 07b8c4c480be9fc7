#include "core/ops/map_many.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "core/call.hpp"
#include "core/program/program_data.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

// The groups of map_many while a call is checked.
namespace tilewright {

namespace {

/// "groups[2].inputs[1]", of thousands of operands, so it takes no memory.
class OperandName {
 public:
  OperandName(std::size_t group, bool is_input, std::size_t at) {
    add("groups[");
    add(group);
    add(is_input ? "].inputs[" : "].outputs[");
    add(at);
    add("]");
  }
  operator std::string_view() const { return {text_.data(), length_}; }

 private:
  void add(std::string_view part) {
    std::ranges::copy(part, text_.begin() + static_cast<std::ptrdiff_t>(length_));
    length_ += part.size();
  }
  void add(std::size_t number) {
    char* const from = text_.data() + length_;
    length_ += static_cast<std::size_t>(
        std::to_chars(from, text_.data() + text_.size(), number).ptr - from);
  }
  std::array<char, 72> text_;
  std::size_t length_ = 0;
};

/// Bytes that an operand touches, and which one it is.
struct Touched {
  const Allocation* allocation;
  Size first, past;
  std::size_t group, at;  ///< among the group's operands
};

class ManyCheck {
 public:
  ManyCheck(const Call& call, const ProgramData& program, std::span<const MapGroup> groups)
      : call_(call), groups_(groups), inputs_(program.inputs.size()) {
    for (const std::uint32_t node : program.inputs) dtypes_.push_back(program.nodes[node].dtype);
    for (const std::uint32_t node : program.outputs) dtypes_.push_back(program.nodes[node].dtype);
    touched_.reserve(groups.size() * dtypes_.size());
  }

  void check(std::size_t g, MapManyRequest& r) {
    const MapGroup& group = groups_[g];
    if (group.length < 0) {
      call_.invalid(text("groups[", g, "].length is ", group.length, ", expected 0 or more"));
    }
    counted(g, "inputs", group.inputs.size(), inputs_);
    counted(g, "outputs", group.outputs.size(), dtypes_.size() - inputs_);
    for (std::size_t i = 0; i < dtypes_.size(); ++i) {
      const MapRequest::Operand operand = checked(g, i);
      if (group.length == 0) continue;
      const auto size = static_cast<Size>(size_of(dtypes_[i]));
      touched_.push_back({operand.allocation.get(), operand.offset * size,
                          (operand.offset + group.length) * size, g, i});
      r.operands.push_back(operand);
    }
    if (group.length != 0) r.lengths.push_back(group.length);
  }

  /// That outputs lie apart from all else, or are inputs of their own group.
  void apart(MapManyRequest& r) {
    r.same_as.assign(r.lengths.size() * inputs_, MapRequest::no_output);
    std::vector<std::uint32_t> places(groups_.size());  // of groups among those with elements
    for (std::size_t g = 0, next = 0; g < groups_.size(); ++g) {
      places[g] = static_cast<std::uint32_t>(groups_[g].length != 0 ? next++ : next);
    }
    // Of those that start at one byte the outputs come first: so the last output is the only one
    // that may reach whatever comes, and all inputs before an output start before it.
    const auto before = [&](const Touched& a, const Touched& b) {
      if (a.allocation != b.allocation) return std::less<>()(a.allocation, b.allocation);
      if (a.first != b.first) return a.first < b.first;
      return is_output(a) && !is_output(b);
    };
    std::sort(touched_.begin(), touched_.end(), before);
    const Touched* output = nullptr;    // the last one
    const Touched* furthest = nullptr;  // the input that reaches furthest
    const Allocation* allocation = nullptr;
    for (const Touched& one : touched_) {
      if (one.allocation != allocation) output = furthest = nullptr;
      allocation = one.allocation;
      const bool meets = output != nullptr && one.first < output->past;
      if (is_output(one)) {
        if (meets) overlap(one, *output);
        if (furthest != nullptr && one.first < furthest->past) overlap(one, *furthest);
        output = &one;
      } else {
        if (meets) {
          const bool is_same =
              one.group == output->group && one.first == output->first && one.past == output->past;
          if (!is_same) overlap(*output, one);
          r.same_as[places[one.group] * inputs_ + one.at] =
              static_cast<std::uint32_t>(output->at - inputs_);
        }
        if (furthest == nullptr || one.past > furthest->past) furthest = &one;
      }
    }
  }

 private:
  bool is_output(const Touched& one) const { return one.at >= inputs_; }

  OperandName name(std::size_t g, std::size_t i) const {
    return {g, i < inputs_, i < inputs_ ? i : i - inputs_};
  }

  void counted(std::size_t g, std::string_view what, std::size_t given,
               std::size_t expected) const {
    if (given == expected) return;
    call_.invalid(
        text("the program has ", expected, " ", what, ", and groups[", g, "] has ", given));
  }

  MapRequest::Operand checked(std::size_t g, std::size_t i) const {
    const MapGroup& group = groups_[g];
    const MapOperand& operand = i < inputs_ ? group.inputs[i] : group.outputs[i - inputs_];
    const bool is_row =
        operand.strides.empty() || (operand.strides.size() == 1 && (operand.strides[0] == 1));
    if (!is_row) {
      call_.invalid(text(std::string_view(name(g, i)),
                         " has strides, expected elements side by side; pass that group to map()"));
    }
    if (operand.offset < 0) {
      call_.invalid(text(std::string_view(name(g, i)), ".offset is ", operand.offset,
                         ", expected 0 or more"));
    }
    if (group.length == 0) {
      if (operand.buffer != Buffer::null) call_.buffer(name(g, i), operand.buffer);
      return {};
    }
    const Size past = call_.add(operand.offset, group.length);
    const BufferRange range = call_.buffer(name(g, i), operand.buffer, past, dtypes_[i]);
    const auto first = static_cast<Size>(range.offset / size_of(dtypes_[i]));
    return {range.allocation, first + operand.offset};
  }

  [[noreturn]] void overlap(const Touched& output, const Touched& other) const {
    const auto shown = [&](const Touched& one) {
      return text(std::string_view(name(one.group, one.at)), " (bytes ", one.first, " to ",
                  one.past, ")");
    };
    const bool is_own = !is_output(other) && output.group == other.group;
    call_.invalid(text(shown(output), " overlaps ", shown(other),
                       is_output(other) ? "; outputs must be apart"
                       : is_own ? " and does not have its offset and size of element; write to "
                                  "another buffer"
                                : ", which another group reads; write to another buffer"));
  }

  const Call& call_;
  std::span<const MapGroup> groups_;
  std::size_t inputs_;
  std::vector<DType> dtypes_;  // of the inputs, then of the outputs
  std::vector<Touched> touched_;
};

}  // namespace

std::optional<MapManyRequest> checked_map_many(const Call& call, const Program& program,
                                               std::span<const MapGroup> groups,
                                               std::span<const Number> numbers) {
  const ProgramData& data = *program.data();
  if (numbers.size() != data.numbers.size()) {
    call.invalid(text("the program has ", data.numbers.size(), " numbers, and ", numbers.size(),
                      " are given"));
  }
  if (data.outputs.empty()) call.invalid("the program has no output; give it one with output()");
  MapManyRequest r;
  r.program = program.data();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    r.numbers.push_back(
        numbers[i].bits(data.nodes[data.numbers[i]].dtype, text("map_many: numbers[", i, "]")));
  }
  ManyCheck check(call, data, groups);
  r.lengths.reserve(groups.size());
  r.operands.reserve(groups.size() * (data.inputs.size() + data.outputs.size()));
  for (std::size_t g = 0; g < groups.size(); ++g) check.check(g, r);
  if (r.lengths.empty()) return std::nullopt;
  check.apart(r);
  return r;
}

}  // namespace tilewright
