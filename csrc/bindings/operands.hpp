#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <initializer_list>
#include <span>

#include "bindings/array.hpp"
#include "bindings/call.hpp"

// How every op of the array tier starts and ends: operands are read as Arrays, and a result finds
// its place.
namespace tilewright::bindings {

/// Refuses an Array that is not one of this backend, and a complex one.
void check_own(PyObject* backend, const char* call, const char* name, pybind11::handle array);
/// Refuses an Array that is not one of this backend.
void check_backend(PyObject* backend, const char* call, const char* name, pybind11::handle array);

/// What an op takes of its operands: any strides; rows of the last dimension that are whole, with
/// any strides but negative ones between them; or elements that lie row by row. Those that lie
/// otherwise get a copy that does.
enum class Layout { any, rows, contiguous };

/// N operands as Arrays of the backend, all float32 or all float16. They are alive as long as this
/// and what they were given as.
template <std::size_t N>
class Operands {
 public:
  Operands(PyObject* backend, const char* call, const std::array<const char*, N>& names,
           const std::array<PyObject*, N>& given, Layout layout = Layout::contiguous);

  const ArrayObject& operator[](std::size_t i) const { return *arrays_[i]; }

 private:
  std::array<const ArrayObject*, N> arrays_;
  pybind11::object read_;  // by Python, where not all were such Arrays already
  std::array<pybind11::object, N> copies_;
};

bool lies_in(const ArrayObject& array, Layout layout);
/// The Array, or a copy of it in `kept`, whose elements lie row by row.
const ArrayObject* contiguous(const ArrayObject* array, pybind11::object& kept);

/// Whether all are Arrays of the backend, all float32 or all float16.
bool all_ready(PyObject* backend, std::span<PyObject* const> given) noexcept;
/// The same operands as a list of Arrays that are: the way of numbers, of hosts' arrays and of what
/// is refused.
pybind11::object read_each(PyObject* backend, const char* call, std::span<const char* const> names,
                           std::span<PyObject* const> given);

template <std::size_t N>
Operands<N>::Operands(PyObject* backend, const char* call, const std::array<const char*, N>& names,
                      const std::array<PyObject*, N>& given, Layout layout) {
  const bool ready = all_ready(backend, given);
  if (!ready) read_ = read_each(backend, call, names, given);
  for (std::size_t i = 0; i < N; ++i) {
    arrays_[i] = array_in(ready ? given[i] : PyList_GET_ITEM(read_.ptr(), i));
    if (layout == Layout::contiguous) arrays_[i] = contiguous(arrays_[i], copies_[i]);
  }
}

/// Where a result goes: a new Array, or `out` if it is not None and fits; it must not overlap those
/// of `apart`. What an op writes lies as `layout` says: release() takes it to an `out` that does
/// not.
class Result {
 public:
  Result(PyObject* backend, const char* call, PyObject* out, pybind11::handle shape, DType dtype,
         std::span<const ArrayObject* const> apart = {}, Layout layout = Layout::contiguous);

  const ArrayObject& operator*() const { return *array_; }
  const ArrayObject* operator->() const { return array_; }
  pybind11::object release();

 private:
  pybind11::object object_;
  pybind11::object spread_;  // an `out` with gaps
  const ArrayObject* array_;
};

inline Backend& backend_of(PyObject* self) {
  Backend* backend = instance_of<Backend>(self);
  if (backend == nullptr) throw pybind11::type_error("the backend was never initialised");
  return *backend;
}

/// The characters of a str that our own Python code passes.
inline const char* characters(PyObject* string) {
  const char* text = PyUnicode_AsUTF8(string);
  if (text == nullptr) throw pybind11::error_already_set();
  return text;
}

bool same_shape(const ArrayObject& a, const ArrayObject& b);

/// A shape or strides with room for any rank.
struct Sizes {
  std::size_t rank = 0;
  std::array<Size, max_rank> values;

  Sizes() = default;
  explicit Sizes(pybind11::handle shape);
  Size operator[](std::size_t i) const { return values[i]; }
  std::span<const Size> span() const { return {values.data(), rank}; }
  pybind11::tuple tuple() const;
};

/// NumPy's rule: from the right, sizes are equal or one of them is 1.
Sizes broadcast(const char* call, const Sizes& a, const Sizes& b);
/// The strides that walk a contiguous array of `shape` as one of shape `to`.
Sizes broadcast_strides(const Sizes& shape, const Sizes& to);

/// Adds what Python's ops start and end with: _new, _own, _read, _result and their like.
void bind_operands(BackendClass& cls);

}  // namespace tilewright::bindings
