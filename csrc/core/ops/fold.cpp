#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/call.hpp"
#include "core/call_key.hpp"
#include "core/fold_operands.hpp"
#include "core/kept_requests.hpp"
#include "core/map_operands.hpp"
#include "core/program/program_data.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

// map_reduce and scan: one request for both.
namespace tilewright {

namespace {

/// What programs are made into, each for a purpose of its own in KeptRewrites.
constexpr std::uint32_t truths = 1, numbers_of_truths = 2, of_places = 3, of_moments = 4,
                        of_results = 5;

bool is_real(ComputeClass kind) { return kind == ComputeClass::f32 || kind == ComputeClass::f64; }

/// What elements are joined as: the front with an output of a class that has the op.
ProgramRef front_of(const Call& call, KeptRewrites& kept, const ProgramRef& program,
                    Reduction& op) {
  const bool truth = op == Reduction::any || op == Reduction::all;
  if (op == Reduction::moments && !is_real(class_of(program->output_dtype()))) {
    call.invalid(text("the program gives ", to_string(program->output_dtype()),
                      ", expected floats, which moments takes; cast it to float32"));
  }
  const bool is_bool = program->output_dtype() == DType::boolean;
  if (is_bool && (op == Reduction::sum || op == Reduction::prod)) {
    call.invalid(text("the program gives bool, which ", to_string(op),
                      " does not take; cast it to the integer to count in, or take any or all"));
  }
  if (op == Reduction::any) op = Reduction::max;
  if (op == Reduction::all) op = Reduction::min;
  if (!truth && !is_bool) return program;
  return kept.of(program, truth ? truths : numbers_of_truths, [&] {
    return cast_output(truth ? cast_output(program, DType::boolean) : program, DType::uint32);
  });
}

/// With its first input as the class of the result has it.
ProgramRef behind_of(KeptRewrites& kept, const ProgramRef& program, DType result) {
  return kept.of(program, of_results + static_cast<std::uint32_t>(result), [&] {
    return result == DType::float32 ? widen_input(program) : cast_input(program, result);
  });
}

const Names input_names("inputs"), output_names("outputs"), behind_names("behind_inputs"),
    number_names("map_reduce: numbers"), behind_number_names("map_reduce: behind_numbers"),
    scan_number_names("scan: numbers");

/// The operands and numbers of a call.
struct Given {
  std::span<const MapOperand> inputs, behind_inputs, outputs;
  std::span<const Number> numbers, behind_numbers;
  bool is_scan = false;

  std::size_t count() const { return inputs.size() + behind_inputs.size() + outputs.size(); }
  const MapOperand& operand(std::size_t i) const {
    if (i < inputs.size()) return inputs[i];
    i -= inputs.size();
    return i < behind_inputs.size() ? behind_inputs[i] : outputs[i - behind_inputs.size()];
  }
};

std::string_view name_of(const Given& given, std::size_t i) {
  std::string made;  // of more operands than are kept
  if (i < given.inputs.size()) return input_names.of(i, made);
  i -= given.inputs.size();
  if (given.is_scan) return "output";
  return i < given.behind_inputs.size() ? behind_names.of(i, made)
                                        : output_names.of(i - given.behind_inputs.size(), made);
}

/// Which call it is: map_reduce, or scan in one of its ways.
enum class Kind : std::uint8_t { reduction, scan, exclusive_scan };

/// What a request follows from besides its buffers; none where that is too much to keep it.
std::optional<CallKey> key_of(Kind kind, const ProgramData& front, const ProgramData* behind,
                              Reduction op, std::span<const Size> shape, std::span<const Size> axes,
                              const Given& given) {
  if (given.count() > KeptRequest<FoldRequest>::most_operands || shape.size() > max_rank ||
      axes.size() > max_rank) {
    return std::nullopt;
  }
  constexpr int bits = 8;
  CallKey key;
  auto counts = static_cast<std::uint64_t>(kind) << bits | static_cast<std::uint64_t>(op);
  for (const std::size_t count : {shape.size(), axes.size(), given.inputs.size(),
                                  given.behind_inputs.size(), given.outputs.size()}) {
    counts = counts << bits | count;
  }
  key.add(counts);
  key.add(reinterpret_cast<std::uintptr_t>(&front));
  key.add(reinterpret_cast<std::uintptr_t>(behind));
  for (const Size size : shape) key.add(size);
  for (const Size axis : axes) key.add(axis);
  for (const auto list : {given.inputs, given.behind_inputs, given.outputs}) {
    for (const MapOperand& operand : list) {
      key.add(operand.strides.size());
      for (const Size stride : operand.strides) key.add(stride);
    }
  }
  const auto add = [&](const ProgramData& program, std::span<const Number> numbers,
                       const Names& names) {
    if (numbers.size() != program.numbers.size()) return false;
    std::string made;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      key.add(numbers[i].bits(program.nodes[program.numbers[i]].dtype, names.of(i, made)));
    }
    return true;
  };
  if (!add(front, given.numbers, given.is_scan ? scan_number_names : number_names))
    return std::nullopt;
  if (behind == nullptr ? !given.behind_numbers.empty()
                        : !add(*behind, given.behind_numbers, behind_number_names)) {
    return std::nullopt;
  }
  if (!key.fits()) return std::nullopt;
  key.seal();
  return key;
}

/// Runs the request of a call before, with the operands of this one; false where there is none.
template <class Run>
bool run_known(Call& call, KeptRequests<FoldRequest>& all, const std::optional<CallKey>& key,
               const Given& given, const Run& run) {
  auto* const known = key ? all.find(*key) : nullptr;
  if (known == nullptr) return false;
  const UsedRequest used(*known);
  const auto named = [&](std::size_t i) {
    return std::pair<std::string_view, const MapOperand&>(name_of(given, i), given.operand(i));
  };
  if (!known->fill(call, named)) return false;
  call.checked();
  run(known->request);
  return true;
}

/// A checked request for the next call of its kind.
void keep(BackendState& state, const CallKey& key, const ProgramRef& front, const Program* behind,
          const FoldRequest& r, const FoldOperands& operands, const Given& given) {
  keep_request(state.mutex, state.kept_folds, key, [&](KeptRequest<FoldRequest>& kept) {
    kept.programs[0] = front;
    if (behind != nullptr) kept.programs[1] = behind->data();
    kept.request = r;
    kept.count = given.count();
    kept.outputs = given.outputs.size();
    for (std::size_t i = 0; i < kept.count; ++i) kept.reaches[i] = operands.reach(i);
  });
}

}  // namespace

void Backend::map_reduce(const Program& program, Reduction op, std::span<const Size> shape,
                         std::span<const Size> axes, std::span<const MapOperand> inputs,
                         std::span<const Number> numbers, std::span<const MapOperand> outputs,
                         const Program* behind, std::span<const MapOperand> behind_inputs,
                         std::span<const Number> behind_numbers) {
  Call call(*state_, "map_reduce");
  call.known("op", op);
  const ProgramRef& front = program.data();
  const Given given{inputs, behind_inputs, outputs, numbers, behind_numbers};
  const std::optional<CallKey> key =
      key_of(Kind::reduction, *front, behind == nullptr ? nullptr : behind->data().get(), op, shape,
             axes, given);
  if (run_known(call, state_->kept_folds, key, given,
                [&](const FoldRequest& r) { do_map_reduce(r); }))
    return;
  check_counts(call, "the program", "inputs", inputs.size(), front->inputs.size());
  check_counts(call, "the program", "numbers", numbers.size(), front->numbers.size());
  if (front->outputs.size() != 1) {
    call.invalid(text("the program has ", front->outputs.size(),
                      " outputs, expected one, which is reduced"));
  }
  call.shape("shape", shape);
  const auto reduced = reduced_dimensions(call, shape, axes);

  FoldRequest r;
  r.call = "map_reduce";
  r.op = op;
  r.front = front_of(call, state_->rewrites, front, r.op);
  const bool truth = op == Reduction::any || op == Reduction::all;
  const bool place = r.finds_place();
  const bool pair = op == Reduction::moments;
  const DType result = truth  ? DType::boolean
                       : pair ? dtype_of(class_of(front->output_dtype()))
                              : front->output_dtype();
  const std::size_t found = r.found();
  if (behind != nullptr) {
    const ProgramRef& given = behind->data();
    check_counts(call, "behind",
                 pair ? "inputs, the first two of which are the results,"
                      : "inputs, the first of which is the result,",
                 behind_inputs.size() + found, given->inputs.size());
    check_counts(call, "behind", "numbers", behind_numbers.size(), given->numbers.size());
    for (std::size_t i = 0; i < found; ++i) {
      const DType taken = given->nodes[given->inputs[i]].dtype;
      if (place ? taken == DType::int64 || taken == DType::int32 : taken == result) continue;
      call.invalid(text("the ", i == 0 ? "first" : "second", " input of behind is ",
                        to_string(taken), ", expected ",
                        place ? "int64 or int32" : to_string(result), ", what ", to_string(op),
                        " gives"));
    }
    r.behind = given;
  } else {
    check_counts(call, "behind, which is none,", "inputs", behind_inputs.size(), 0);
    check_counts(call, "behind, which is none,", "numbers", behind_numbers.size(), 0);
    r.behind = pair ? state_->rewrites.of(identity_program(result), of_moments,
                                          [&] { return pair_program(result); })
                    : identity_program(place ? DType::int64 : result);
  }
  check_counts(call, behind != nullptr ? "behind" : "the program", "outputs", outputs.size(),
               r.behind->outputs.size());
  if (outputs.empty()) call.invalid("behind has no output; give it one with output()");
  r.numbers = bits_of(*front, numbers, number_names);
  r.behind_numbers = bits_of(*r.behind, behind_numbers, behind_number_names);

  const auto [all, kept, gone] = split_dimensions(call, shape, reduced, r);
  FoldOperands operands(call, shape);
  std::string made;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operands.add(input_names.of(i, made), inputs[i], all, front->nodes[front->inputs[i]].dtype,
                 false);
  }
  for (std::size_t i = 0; i < behind_inputs.size(); ++i) {
    operands.add(behind_names.of(i, made), behind_inputs[i], kept,
                 r.behind->nodes[r.behind->inputs[i + found]].dtype, false);
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
  KeptRewrites& kept_rewrites = state_->rewrites;
  if (!place && !pair) {
    r.behind = behind_of(kept_rewrites, r.behind, dtype_of(class_of(r.front->output_dtype())));
  } else if (place && behind != nullptr) {
    r.behind =
        kept_rewrites.of(r.behind, of_places, [&] { return cast_input(r.behind, DType::uint32); });
  } else if (place) {
    r.behind = nullptr;
  }
  call.checked();

  const auto ordered_kept = operands.ordered(kept);
  operands.append(r, ordered_kept);
  r.kept = r.rank;
  if (place) {
    Dims walked;
    for (const std::size_t dim : gone) {
      if (shape[dim] != 1) walked.push_back(dim);
    }
    operands.append(r, walked);
  } else {
    operands.append(r, operands.ordered(gone));
  }
  operands.give_to(r);
  if (r.behind && key) {
    keep(*state_, *key, front, behind, r, operands, given);
  } else if (!r.behind) {
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
  Call call(*state_, "scan");
  call.known("op", op);
  const ProgramRef& front = program.data();
  const Given given{inputs, {}, {&output, 1}, numbers, {}, true};
  const std::optional<CallKey> key =
      reverse ? std::nullopt
              : key_of(exclusive ? Kind::exclusive_scan : Kind::scan, *front, nullptr,
                       static_cast<Reduction>(op), shape, {&axis, 1}, given);
  if (run_known(call, state_->kept_folds, key, given, [&](const FoldRequest& r) { do_scan(r); }))
    return;
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
  r.front = front_of(call, state_->rewrites, front, r.op);
  r.behind = behind_of(state_->rewrites, identity_program(front->output_dtype()),
                       dtype_of(class_of(r.front->output_dtype())));
  r.numbers = bits_of(*front, numbers, scan_number_names);
  Dims all, kept;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    all.push_back(dim);
    if (dim != along) kept.push_back(dim);
  }
  const Size n = call.product(shape);
  FoldOperands operands(call, shape);
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
  const auto ordered_kept = operands.ordered(kept);
  operands.append(r, ordered_kept);
  r.kept = r.rank;
  Dims last;
  last.push_back(along);
  operands.append(r, last);
  operands.give_to(r);
  if (key) keep(*state_, *key, front, nullptr, r, operands, given);
  do_scan(r);
}

}  // namespace tilewright
