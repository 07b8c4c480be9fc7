#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/call.hpp"
#include "core/fold_operands.hpp"
#include "core/ops/map_rows.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

namespace {

constexpr std::size_t most_folds = 8;

bool joins_elements(Reduction op) {
  return op == Reduction::sum || op == Reduction::prod || op == Reduction::max ||
         op == Reduction::min;
}
bool is_wide(DType dtype) { return dtype == dtype_of(class_of(dtype)); }

/// A program whose first inputs have the dtypes of those of another, and whose others come from
/// folds.
class Checks {
 public:
  Checks(const Call& call, std::size_t inputs, const ProgramData& first)
      : call_(call), inputs_(inputs), first_(first) {}

  void program(std::string_view name, const ProgramData& program, std::size_t operands,
               std::size_t folds, std::size_t numbers) const {
    check_counts(call_, name, "inputs", operands + folds, program.inputs.size());
    check_counts(call_, name, "numbers", numbers, program.numbers.size());
    for (std::size_t i = 0; i < operands + folds; ++i) {
      const DType dtype = program.nodes[program.inputs[i]].dtype;
      const bool from_fold = i >= operands;
      const DType expected =
          from_fold ? first_.output_dtype() : first_.nodes[first_.inputs[i]].dtype;
      if (dtype == expected) continue;
      call_.invalid(text(name, " takes ", to_string(dtype), " as its input ", i, ", expected ",
                         to_string(expected),
                         from_fold ? ", what folds find" : " as folds[0] takes it"));
    }
  }
  void fold(std::string_view name, const RowFold& fold, std::size_t before) const {
    call_.known("op", fold.op);
    if (!joins_elements(fold.op)) {
      call_.invalid(text(name, " is ", to_string(fold.op), ", expected sum, prod, max or min"));
    }
    const ProgramData& data = *fold.program->data();
    if (data.outputs.size() != 1) {
      call_.invalid(text(name, ": the program has ", data.outputs.size(),
                         " outputs, expected one, which is reduced"));
    }
    const DType found = data.output_dtype();
    if (!is_wide(found) || found == DType::boolean) {
      call_.invalid(text(name, " gives ", to_string(found),
                         ", expected float32, float64 or an integer of 32 or 64 bits; cast it"));
    }
    if (found != first_.output_dtype()) {
      call_.invalid(text(name, " gives ", to_string(found), ", expected ",
                         to_string(first_.output_dtype()), " as folds[0] does"));
    }
    program(name, data, inputs_, before, fold.numbers.size());
  }

 private:
  const Call& call_;
  const std::size_t inputs_;
  const ProgramData& first_;
};

}  // namespace

std::optional<RowsRequest> checked_map_rows(const Call& call, std::span<const RowFold> folds,
                                            std::span<const Size> shape, std::span<const Size> axes,
                                            std::span<const MapOperand> inputs,
                                            const RowProgram& elements,
                                            std::span<const MapOperand> outputs,
                                            const RowProgram& ends,
                                            std::span<const MapOperand> end_outputs) {
  static const Names input_names("inputs"), output_names("outputs"), end_names("end_outputs"),
      fold_names("folds"), fold_numbers("map_rows: numbers of a fold"),
      element_numbers("map_rows: numbers"), end_numbers("map_rows: end_numbers");
  if (folds.empty() || folds.size() > most_folds) {
    call.invalid(text("folds has ", folds.size(), ", expected 1 to ", most_folds,
                      folds.empty() ? "; without any map() does it" : ""));
  }
  RowsRequest r;
  r.call = "map_rows";
  r.inputs = inputs.size();
  r.outputs = outputs.size();
  for (std::size_t i = 0; i < folds.size(); ++i) {
    if (folds[i].program == nullptr) call.invalid(text("folds[", i, "] has no program"));
  }
  const ProgramData& first = *folds[0].program->data();
  const Checks checks(call, inputs.size(), first);
  std::string made;
  for (std::size_t i = 0; i < folds.size(); ++i) {
    checks.fold(fold_names.of(i, made), folds[i], i);
    const ProgramRef& data = folds[i].program->data();
    r.folds.push_back({folds[i].op, data, bits_of(*data, folds[i].numbers, fold_numbers)});
  }
  const auto step = [&](const RowProgram& given, const char* name, std::size_t operands,
                        std::size_t written, const Names& names) -> RowsRequest::Step {
    if (given.program == nullptr) {
      check_counts(call, text(name, ", which is none,"), "numbers", given.numbers.size(), 0);
      check_counts(call, text(name, ", which is none,"), "outputs", written, 0);
      return {};
    }
    const ProgramRef& data = given.program->data();
    checks.program(name, *data, operands, folds.size(), given.numbers.size());
    check_counts(call, name, "outputs", written, data->outputs.size());
    if (written == 0) call.invalid(text(name, " has no output; give it one with output()"));
    return {{}, data, bits_of(*data, given.numbers, names)};
  };
  r.elements = step(elements, "elements", inputs.size(), outputs.size(), element_numbers);
  if (ends.program != nullptr) {
    // It has none of the inputs, so its own are those of folds.
    const ProgramData& data = *ends.program->data();
    for (const std::uint32_t input : data.inputs) {
      if (data.nodes[input].dtype == first.output_dtype()) continue;
      call.invalid(text("ends takes ", to_string(data.nodes[input].dtype), ", expected ",
                        to_string(first.output_dtype()), ", what folds find"));
    }
    check_counts(call, "ends", "inputs", folds.size(), data.inputs.size());
    check_counts(call, "ends", "numbers", ends.numbers.size(), data.numbers.size());
    check_counts(call, "ends", "outputs", end_outputs.size(), data.outputs.size());
    if (end_outputs.empty()) call.invalid("ends has no output; give it one with output()");
    r.ends = {{}, ends.program->data(), bits_of(data, ends.numbers, end_numbers)};
  } else {
    check_counts(call, "ends, which is none,", "numbers", ends.numbers.size(), 0);
    check_counts(call, "ends, which is none,", "outputs", end_outputs.size(), 0);
  }
  if (!r.elements.program && !r.ends.program) {
    call.invalid("elements and ends are none, expected one of them at least");
  }

  call.shape("shape", shape);
  const auto reduced = reduced_dimensions(call, shape, axes);
  const auto [all, kept, gone] = split_dimensions(call, shape, reduced, r);
  FoldOperands operands(call, shape);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operands.add(input_names.of(i, made), inputs[i], all, first.nodes[first.inputs[i]].dtype,
                 false);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    operands.add(output_names.of(i, made), outputs[i], all, r.elements.program->output_dtype(i),
                 true);
  }
  for (std::size_t i = 0; i < end_outputs.size(); ++i) {
    operands.add(end_names.of(i, made), end_outputs[i], kept, r.ends.program->output_dtype(i),
                 true);
  }
  if (r.results == 0) return std::nullopt;
  if (r.length == 0) call.invalid("rows have no elements: shape has none along the axes");
  const auto ordered_kept = operands.ordered(kept);
  operands.append(r, ordered_kept);
  r.kept = r.rank;
  operands.append(r, operands.ordered(gone));
  operands.give_to(r);
  return r;
}

}  // namespace tilewright
