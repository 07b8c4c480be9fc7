#include "bindings/chain.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "bindings/call_notes.hpp"
#include "core/program/compose.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

constexpr std::size_t most_forms = 2048;

struct Form {
  std::optional<Program> program;  ///< none until it comes up again
  std::optional<Program> front;    ///< whose address is in the form's key
};

bool same_elements(const ArrayObject& a, const ArrayObject& b) {
  return &a == &b || (a.filled == b.filled && a.offset == b.offset && a.stored_as == b.stored_as &&
                      a.shape == b.shape && a.is_contiguous() && b.is_contiguous());
}

/// Rounds what is computed in float32, as storing it would.
Program::Value rounded(Program& p, Program::Value value, DType dtype) {
  return p.cast(p.cast(value, DType::float32), dtype);
}

}  // namespace

Chain::Chain(const ElementCall& call, ChainRules rules, Py_ssize_t held) : rules_(rules) {
  add(call, held);
}

Chain::Chain(const ArrayObject& array, ChainRules rules) : rules_(rules) {
  const Deferred& waiting = *array.deferred;
  if (waiting.was_used || waiting.computing_process != 0 ||
      (waiting.is_costly && !rules.may_repeat_costly)) {
    blocked_by_ = &array;
    return;
  }
  deferred_.push_back(array.deferred);
  add(array.deferred->call, 0);
}

std::vector<Computing> Chain::begin() const {
  std::vector<Computing> all;
  for (const std::shared_ptr<Deferred>& one : deferred_) {
    one->was_used = true;
    all.emplace_back(one);
  }
  return all;
}

std::vector<const ArrayObject*> Chain::inputs() const {
  std::vector<const ArrayObject*> all;
  for (const py::object& one : inputs_) all.push_back(array_in(one));
  return all;
}

std::uint8_t Chain::add(const ElementCall& call, Py_ssize_t held) {
  Step step{call.function, call.how, {}};
  const auto given = call.given();
  for (std::size_t i = 0; i < given.size() && blocked_by_ == nullptr; ++i) {
    step.operands[i] = place_of(given[i], call, held);
  }
  steps_.push_back(step);
  return static_cast<std::uint8_t>(steps_.size() - 1);
}

Chain::Place Chain::place_of(const CallOperand& operand, const ElementCall& call, Py_ssize_t held) {
  if (operand.array == nullptr) {
    numbers_.push_back(*operand.number);
    number_dtypes_.push_back(operand.dtype);
    return {From::number, static_cast<std::uint8_t>(numbers_.size() - 1)};
  }
  const ArrayObject& array = *operand.array;
  if (array.deferred == nullptr) return input(array);
  const auto found =
      std::ranges::find(taken_in_, &array, [](const auto& one) { return one.first; });
  if (found != taken_in_.end()) return {From::step, found->second};
  const auto slots = std::ranges::count(call.given(), &array, &CallOperand::array);
  if (!takes_in(array, slots + held)) {
    blocked_by_ = &array;
    return {};
  }
  const std::uint8_t at = add(array.deferred->call, 0);
  taken_in_.emplace_back(&array, at);
  return {From::step, at};
}

bool Chain::takes_in(const ArrayObject& array, Py_ssize_t held) {
  const Deferred& deferred = *array.deferred;
  if (deferred.computing_process != 0) return false;
  // Where others have it too, it may have to be computed for them as well.
  const bool is_shared = Py_REFCNT(object_of(array)) > held;
  if (is_shared && (deferred.was_used || (deferred.is_costly && !rules_.may_repeat_costly))) {
    return false;
  }
  CallNotes* const notes = CallNotes::here();
  if (notes != nullptr && notes->is_older(deferred.number)) notes->lose();
  deferred_.push_back(array.deferred);
  return true;
}

Chain::Place Chain::input(const ArrayObject& array) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (same_elements(*array_in(inputs_[i]), array)) {
      return {From::input, static_cast<std::uint8_t>(i)};
    }
  }
  inputs_.push_back(py::reinterpret_borrow<py::object>(object_of(array)));
  return {From::input, static_cast<std::uint8_t>(inputs_.size() - 1)};
}

std::string Chain::form(DType out, const Program* front) const {
  std::string key;
  const auto add = [&](auto value) { key.push_back(static_cast<char>(value)); };
  add(out);
  for (const Step& step : steps_) {
    add(step.function - element_functions().data());
    add(step.how.computed_in);
    for (std::size_t i = 0; i < step.function->operands; ++i) {
      add(step.operands[i].from);
      add(step.operands[i].at);
    }
  }
  for (const py::object& one : inputs_) add(array_in(one)->stored_as);
  for (const DType dtype : number_dtypes_) add(dtype);
  if (front != nullptr) {
    const ProgramData* const data = front->data().get();
    key.append(reinterpret_cast<const char*>(&data), sizeof data);
  }
  return key;
}

Program Chain::built(DType out, const Program* front) const {
  Program p;
  std::vector<Program::Value> inputs, numbers, steps;
  for (const py::object& one : inputs_) inputs.push_back(p.input(array_in(one)->stored_as));
  for (const DType dtype : number_dtypes_) numbers.push_back(p.number(dtype));
  for (const Step& step : steps_) {
    std::vector<Program::Value> operands;
    for (std::size_t i = 0; i < step.function->operands; ++i) {
      const auto [from, at] = step.operands[i];
      operands.push_back(from == From::input    ? inputs[at]
                         : from == From::number ? numbers[at]
                                                : steps[at]);
    }
    Program::Value result = applied(p, *step.function, step.how, std::move(operands));
    const bool is_last = &step == &steps_.back();
    if (!step.how.op.empty() && size_of(step.how.result) == 2 && is_float(step.how.result) &&
        (!is_last || front != nullptr)) {
      result = rounded(p, result, step.how.result);
    }
    steps.push_back(result);
  }
  Program::Value result = steps.back();
  if (front == nullptr) {
    p.output(p.cast(result, out));
    return p;
  }
  p.output(compose(p, p.cast(result, out), *front->data()));
  return p;
}

std::optional<Program> Chain::program(DType out, const Program* front) const {
  static auto& forms = *new std::unordered_map<std::string, Form>();
  if (forms.size() >= most_forms) forms.clear();
  const auto [found, is_new] = forms.try_emplace(form(out, front));
  Form& known = found->second;
  if (is_new && front != nullptr) known.front = *front;
  if (is_new && !rules_.compiles_at_once) return std::nullopt;
  if (!known.program) known.program = built(out, front);
  return known.program;
}

}  // namespace tilewright::bindings
