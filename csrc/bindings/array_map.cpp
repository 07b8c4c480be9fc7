#include "bindings/array_map.hpp"

#include <array>
#include <utility>

#include "bindings/array_complex.hpp"
#include "bindings/array_rules.hpp"
#include "bindings/noted_call.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

constexpr std::size_t most_inputs = 8;

/// The bytes that an Array reaches: [first, second).
std::pair<Size, Size> reach(const ArrayObject& array) {
  const Size item = array.item_bytes();
  if (array.size == 0) return {0, 0};
  if (array.is_contiguous()) {
    return {array.offset * item, (array.offset + array.size) * item};
  }
  const Sizes shape(array.shape);
  Size first = array.offset, last = array.offset;
  for (std::size_t i = 0; i < shape.rank; ++i) {
    const Size step = array.steps[i] * (shape[i] - 1);
    (step < 0 ? first : last) += step;
  }
  return {first * item, (last + 1) * item};
}

bool same_walk(const ArrayObject& input, const ArrayObject& out, const Sizes& shape) {
  if (input.offset != out.offset || size_of(input.stored_as) != size_of(out.stored_as)) {
    return false;
  }
  const Sizes a = strides_as(input, shape), b = strides_of(out);
  for (std::size_t i = 0; i < shape.rank; ++i) {
    if (shape[i] != 1 && a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

Sizes strides_of(const ArrayObject& array) {
  const Sizes shape(array.shape);
  if (array.is_contiguous()) return broadcast_strides(shape, shape);
  Sizes strides;
  strides.rank = shape.rank;
  std::copy_n(array.steps.get(), shape.rank, strides.values.begin());
  return strides;
}

Sizes strides_as(const ArrayObject& array, const Sizes& to) {
  const Sizes shape(array.shape);
  if (array.is_contiguous()) return broadcast_strides(shape, to);
  Sizes strides;
  strides.rank = to.rank;
  std::fill_n(strides.values.begin(), to.rank, 0);
  for (std::size_t i = 1; i <= shape.rank; ++i) {
    if (shape[shape.rank - i] != 1) {
      strides.values[to.rank - i] = array.steps[shape.rank - i];
    }
  }
  return strides;
}

bool overlap(const ArrayObject& a, const ArrayObject& b) {
  // What is deferred gets memory of its own.
  if (a.filled != b.filled || a.filled == nullptr || a.size == 0 || b.size == 0) return false;
  const auto [first_a, past_a] = reach(a);
  const auto [first_b, past_b] = reach(b);
  return first_a < past_b && first_b < past_a;
}

void map_arrays(const Program& program, std::span<const ArrayObject* const> inputs,
                std::span<const Number> numbers, const ArrayObject& out) {
  if (inputs.size() > most_inputs) throw py::value_error("map_arrays: too many inputs");
  std::array<const ArrayObject*, most_inputs> from;
  std::array<py::object, most_inputs> kept;
  const Sizes shape(out.shape);
  const Memory& to_memory = out.memory();
  // Where all lie row by row, the shape does not matter.
  bool flat = out.is_contiguous();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    from[i] = inputs[i];
    from[i]->memory();
    if (overlap(*from[i], out) && !same_walk(*from[i], out, shape)) {
      kept[i] = copied(*from[i]);
      from[i] = array_in(kept[i]);
    }
    flat = flat && from[i]->is_contiguous() && from[i]->size == out.size;
  }
  Backend& backend = *to_memory->backend();
  std::array<MapOperand, most_inputs> operands;
  const MapOperand plain{to_memory->buffer(), {}, out.offset};
  if (flat) {
    const std::array<Size, 1> count{out.size};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      operands[i] = {from[i]->filled->buffer(), {}, from[i]->offset};
    }
    without_gil([&] {
      call_op(backend, &Backend::map, program, count, std::span(operands).first(inputs.size()),
              numbers, {&plain, 1});
    });
    return;
  }
  std::array<Sizes, most_inputs> strides;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    strides[i] = strides_as(*from[i], shape);
    operands[i] = {from[i]->filled->buffer(), strides[i].span(), from[i]->offset};
  }
  const Sizes out_strides = strides_of(out);
  const MapOperand to{to_memory->buffer(), out_strides.span(), out.offset};
  without_gil([&] {
    call_op(backend, &Backend::map, program, shape.span(), std::span(operands).first(inputs.size()),
            numbers, {&to, 1});
  });
}

py::object copied(const ArrayObject& array) {
  py::object fresh = new_array(array.backend, array.shape, array.stored_as, array.is_complex);
  const ArrayObject& to = *any_array_in(fresh);
  if (array.size == 0) return fresh;
  if (array.is_contiguous()) {
    const Size item = array.item_bytes();
    const Memory from = array.memory();
    without_gil([&, dst = to.filled->buffer(), src = from->buffer()] {
      call_op(*from->backend(), &Backend::copy_dtod, dst, src, array.size * item, 0,
              array.offset * item);
    });
    return fresh;
  }
  const Program& program = cast_program(array.stored_as, array.stored_as);
  const py::object parts = array.is_complex ? parts_view(array) : py::object();
  const py::object to_parts = array.is_complex ? parts_view(to) : py::object();
  const std::array<const ArrayObject*, 1> from{parts ? array_in(parts) : &array};
  map_arrays(program, from, {}, to_parts ? *array_in(to_parts) : to);
  return fresh;
}

}  // namespace tilewright::bindings
