#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bindings/call_notes.hpp"

namespace tilewright::bindings {

/// What a call of a function of Arrays asks the trait for and gives, for all calls of its form.
class CallPlan {
 public:
  static constexpr std::size_t most_slots = 48;

  /// Of a call that was noted and gave `result`; null where it cannot be made again from its notes:
  /// where the result waits, or is in memory that is neither given nor fresh.
  static std::shared_ptr<const CallPlan> of(CallNotes& notes, pybind11::handle result);

  /// Makes the calls with these Arrays, and gives their result; none where a table is gone.
  pybind11::object run(PyObject* backend, std::span<const ArrayObject* const> given) const;

 private:
  struct Slot {
    BufferSlot buffer;
    FreshMemory fresh;
    std::weak_ptr<const ArrayMemory> kept;
    bool is_given = false;  ///< a part of the result
  };
  /// A result, or a part of one.
  struct Part {
    enum class Kind : std::uint8_t { value, same, of_given, fresh, of_fresh, items };
    Kind kind = Kind::value;
    std::size_t index = 0;    ///< of an Array that is given, or of a slot
    pybind11::object object;  ///< a value, a shape, or the class of a tuple or list
    DType dtype{};
    bool is_complex = false;
    Size offset = 0;
    std::vector<Size> strides;
    std::vector<Part> items;
  };
  class Run;

  bool describe(CallNotes& notes, pybind11::handle result, Part& part);
  bool describe_array(CallNotes& notes, const ArrayObject& array, Part& part);

  std::vector<std::unique_ptr<const NotedCall>> calls_;
  std::vector<Slot> slots_;
  Part result_;
};

}  // namespace tilewright::bindings
