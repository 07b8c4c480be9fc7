#include "bindings/call_plan.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "bindings/array_map.hpp"
#include "bindings/call.hpp"
#include "bindings/operands.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

/// One of the calls that a plan is for.
class CallPlan::Run {
 public:
  Run(const CallPlan& plan, PyObject* backend, std::span<const ArrayObject* const> given)
      : plan_(plan), backend_(backend), given_(given) {
    for (std::size_t i = 0; i < plan.slots_.size(); ++i) {
      const Slot& slot = plan.slots_[i];
      switch (slot.buffer.from) {
        case BufferSlot::From::given:
          memory_[i] = given[slot.buffer.index]->memory();
          buffers_[i] = memory_[i]->buffer();
          break;
        case BufferSlot::From::given_part:
          buffers_[i] = given[slot.buffer.index]->buffer();
          break;
        case BufferSlot::From::kept:
          memory_[i] = slot.kept.lock();
          is_whole_ = is_whole_ && memory_[i] != nullptr;
          if (is_whole_) buffers_[i] = memory_[i]->buffer();
          break;
        case BufferSlot::From::fresh:
        case BufferSlot::From::part:
          break;  // once they are used
      }
    }
  }

  py::object result() {
    if (!is_whole_) return {};
    Backend& backend = backend_of(backend_);
    for (std::size_t i = 0; i < plan_.calls_.size(); ++i) {
      make_fresh(i);
      without_gil([&] { plan_.calls_[i]->run(backend, {buffers_.data(), plan_.slots_.size()}); });
      // Parts end before what they are parts of, which stands in front of them.
      for (std::size_t k = plan_.slots_.size(); k-- > 0;) {
        const Slot& slot = plan_.slots_[k];
        if (slot.buffer.last != i || slot.is_given) continue;
        parts_[k].reset();
        memory_[k].reset();
      }
    }
    make_fresh(plan_.calls_.size());
    return give(plan_.result_);
  }

 private:
  /// What a call is the first to use.
  void make_fresh(std::size_t call) {
    for (std::size_t i = 0; i < plan_.slots_.size(); ++i) {
      const Slot& slot = plan_.slots_[i];
      if (slot.buffer.first != call) continue;
      if (slot.buffer.from == BufferSlot::From::fresh) {
        const FreshMemory& fresh = slot.fresh;
        memory_[i] = new_memory(backend_, fresh.elements, fresh.dtype, fresh.is_complex);
        buffers_[i] = memory_[i]->buffer();
      } else if (slot.buffer.from == BufferSlot::From::part) {
        const Memory& whole = memory_[slot.buffer.index];
        const Size start = slot.buffer.start;
        buffers_[i] = without_gil(
            [&] { return whole->backend()->view(whole->buffer(), start, whole->bytes() - start); });
        parts_[i] = std::make_unique<const PartHandle>(whole->backend(), buffers_[i]);
      }
    }
  }

  py::object give(const Part& part) const {
    using enum Part::Kind;
    switch (part.kind) {
      case value:
        return part.object;
      case same:
        return py::reinterpret_borrow<py::object>(object_of(*given_[part.index]));
      case of_given:
        return new_view(*given_[part.index], part.object, part.strides, part.offset,
                        part.is_complex);
      case fresh:
      case of_fresh: {
        py::object whole =
            new_array_in(memory_[part.index], backend_, part.object, part.dtype, part.is_complex);
        if (part.kind == fresh) return whole;
        return new_view(*any_array_in(whole), part.object, part.strides, part.offset,
                        part.is_complex);
      }
      case items:
        return given_items(part);
    }
    return py::none();
  }

  py::object given_items(const Part& part) const {
    py::tuple all(part.items.size());
    for (std::size_t i = 0; i < part.items.size(); ++i) all[i] = give(part.items[i]);
    PyObject* const type = part.object.ptr();
    if (type == reinterpret_cast<PyObject*>(&PyTuple_Type)) return all;
    // Of a class of named parts, as of a tuple; its own __new__ takes each apart.
    py::object made =
        type == reinterpret_cast<PyObject*>(&PyList_Type)
            ? py::reinterpret_steal<py::object>(PySequence_List(all.ptr()))
            : py::reinterpret_steal<py::object>(PyTuple_Type.tp_new(
                  reinterpret_cast<PyTypeObject*>(type), py::make_tuple(all).ptr(), nullptr));
    if (!made) throw py::error_already_set();
    return made;
  }

  const CallPlan& plan_;
  PyObject* backend_;
  std::span<const ArrayObject* const> given_;
  std::array<Buffer, most_slots> buffers_;
  std::array<Memory, most_slots> memory_;
  std::array<std::unique_ptr<const PartHandle>, most_slots> parts_;
  bool is_whole_ = true;
};

std::shared_ptr<const CallPlan> CallPlan::of(CallNotes& notes, py::handle result) {
  auto plan = std::make_shared<CallPlan>();
  // Slots are asked for while there are calls.
  if (!plan->describe(notes, result, plan->result_) || !notes.is_whole()) return nullptr;
  if (notes.slots().size() > most_slots) return nullptr;
  for (std::size_t i = 0; i < notes.slots().size(); ++i) {
    const BufferSlot& slot = notes.slots()[i];
    Slot& to = plan->slots_.emplace_back(slot);
    if (slot.from == BufferSlot::From::fresh) to.fresh = notes.fresh()[slot.index];
    if (slot.from == BufferSlot::From::kept) to.kept = notes.kept()[slot.index];
    to.is_given = slot.last == notes.calls();
  }
  plan->calls_ = notes.take_calls();
  return plan;
}

bool CallPlan::describe(CallNotes& notes, py::handle result, Part& part) {
  PyObject* const object = result.ptr();
  if (is_plain_array(result)) {
    const ArrayObject* const array = any_array_in(result);
    return array != nullptr && describe_array(notes, *array, part);
  }
  if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    part.kind = Part::Kind::items;
    part.object = py::type::of(result);
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    part.items.resize(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!describe(notes, PySequence_Fast_GET_ITEM(object, i),
                    part.items[static_cast<std::size_t>(i)])) {
        return false;
      }
    }
    return true;
  }
  part.object = py::reinterpret_borrow<py::object>(result);
  return result.is_none();
}

bool CallPlan::describe_array(CallNotes& notes, const ArrayObject& array, Part& part) {
  const auto given = notes.given();
  const auto same = std::ranges::find(given, &array);
  if (same != given.end()) {
    part.kind = Part::Kind::same;
    part.index = static_cast<std::size_t>(same - given.begin());
    return true;
  }
  if (array.deferred != nullptr) return false;
  const std::size_t found = notes.slot_of(array.filled->buffer());
  if (found == CallNotes::no_slot) return false;
  const BufferSlot& slot = notes.slots()[found];
  part.object = py::reinterpret_borrow<py::object>(array.shape);
  part.dtype = array.stored_as;
  part.is_complex = array.is_complex;
  part.offset = array.offset;
  const Sizes strides = strides_of(array);
  part.strides.assign(strides.span().begin(), strides.span().end());
  if (slot.from == BufferSlot::From::given) {
    part.kind = Part::Kind::of_given;
    part.index = slot.index;
    return given[slot.index]->stored_as == array.stored_as;
  }
  part.kind = array.is_contiguous() && array.offset == 0 ? Part::Kind::fresh : Part::Kind::of_fresh;
  part.index = found;
  return slot.from == BufferSlot::From::fresh;  // and no table
}

py::object CallPlan::run(PyObject* backend, std::span<const ArrayObject* const> given) const {
  return Run(*this, backend, given).result();
}

}  // namespace tilewright::bindings
