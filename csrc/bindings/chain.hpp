#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/deferred.hpp"

namespace tilewright::bindings {

// What one program takes: the inputs of a chain and its output are bound to one kernel each.
inline constexpr std::uint32_t most_chain_arrays = 6;
inline constexpr std::uint32_t most_chain_functions = 24;

struct ChainRules {
  bool may_repeat_costly;  ///< computing again takes less time than memory does
  bool compiles_at_once;   ///< and not only what comes up again
};

/// Elementwise calls that feed each other, as one program. Built from the last one: operands that
/// wait become a part of it, all others its inputs.
class Chain {
 public:
  /// `held`: how many references to each operand its callers have besides `call`.
  Chain(const ElementCall& call, ChainRules rules, Py_ssize_t held);
  /// The elements of an Array that waits.
  Chain(const ArrayObject& array, ChainRules rules);

  /// An operand that has to be computed before the chain can be; null where it is whole.
  const ArrayObject* blocked_by() const { return blocked_by_; }
  /// What others have too and the chain computes on its way may be computed once more. Until the
  /// result is there, writes to what the chain reads wait for it.
  std::vector<Computing> begin() const;

  std::vector<const ArrayObject*> inputs() const;
  const std::vector<Number>& numbers() const { return numbers_; }

  /// The program whose one output is of dtype `out`, or what `front`, of one input and no numbers,
  /// makes of that. Kept for the process. None where a chain of this form comes up for the
  /// first time and compiling takes longer than running the functions one by one.
  std::optional<Program> program(DType out, const Program* front = nullptr) const;

 private:
  enum class From : std::uint8_t { input, number, step };
  struct Place {
    From from;
    std::uint8_t at;
  };
  struct Step {
    const ElementFunction* function;
    TypedFunction how;
    std::array<Place, most_operands> operands;
  };

  /// The last step of a call.
  std::uint8_t add(const ElementCall& call, Py_ssize_t held);
  Place place_of(const CallOperand& operand, const ElementCall& call, Py_ssize_t held);
  Place input(const ArrayObject& array);
  bool takes_in(const ArrayObject& array, Py_ssize_t held);
  std::string form(DType out, const Program* front) const;
  Program built(DType out, const Program* front) const;

  ChainRules rules_;
  const ArrayObject* blocked_by_ = nullptr;
  std::vector<Step> steps_;
  std::vector<pybind11::object> inputs_;
  std::vector<Number> numbers_;
  std::vector<DType> number_dtypes_;
  std::vector<std::pair<const ArrayObject*, std::uint8_t>> taken_in_;
  std::vector<std::shared_ptr<Deferred>> deferred_;  ///< that the chain takes in
};

}  // namespace tilewright::bindings
