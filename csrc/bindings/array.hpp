#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "tilewright/owned_buffer.hpp"

namespace tilewright::bindings {

/// A buffer of Arrays. What waits for the elements that are in it is computed before it is written.
struct ArrayMemory : OwnedBuffer {
  ArrayMemory(std::shared_ptr<Backend> backend, Size bytes)
      : OwnedBuffer(std::move(backend), bytes) {}
  struct AtHand {};
  /// Of freed memory that is at hand, with the GIL held; it owns nothing where there is none.
  ArrayMemory(const std::shared_ptr<Backend>& backend, Size bytes, AtHand);
  mutable std::size_t readers = 0;  ///< how many deferred calls have operands in it
  mutable bool is_exposed = false;  ///< others may write it unseen: nothing waits for its elements
};

/// Freed with its last owner: several Arrays may share one.
using Memory = std::shared_ptr<const ArrayMemory>;

struct Deferred;

/// A handle on a part of an Array's memory, freed with its last owner.
struct PartHandle {
  PartHandle(std::shared_ptr<Backend> backend, Buffer buffer)
      : backend(std::move(backend)), buffer(buffer) {}
  ~PartHandle() { backend->release(buffer); }
  PartHandle(const PartHandle&) = delete;
  PartHandle& operator=(const PartHandle&) = delete;

  std::shared_ptr<Backend> backend;
  Buffer buffer;
};

/// What an Array of Python is made of. An object of CPython's own kind and not of pybind11's, since
/// every op of the array tier looks into its operands and makes one. Nothing in it changes once it
/// is made, but for a handle that is made when it is first asked for, and for memory that an
/// elementwise function fills when its result is first asked for (deferred.hpp).
///
/// What reads or writes the elements of an Array asks for them in one of two ways: as an operand of
/// map(), by any strides (array_map.hpp), or as a buffer that starts with the first one (buffer()).
struct ArrayObject {
  PyObject ob_base;   ///< what PyObject_HEAD declares
  PyObject* backend;  ///< Python's; null until it is made, as what follows
  PyObject* shape;    ///< a tuple of int
  PyObject* dtype;    ///< NumPy's; of bfloat16 the package's own
  PyObject* weak_references;
  Size size;              ///< in elements
  DType stored_as;        ///< of complex elements, what their parts are stored as
  bool is_complex;        ///< elements are pairs: the real part, then the imaginary one
  mutable Memory filled;  ///< null while the elements are deferred
  mutable std::shared_ptr<Deferred> deferred;  ///< what fills the memory; null once it is done
  Size offset;                                 ///< of the first element, in elements of the memory
  std::unique_ptr<const Size[]> steps;  ///< the strides in elements; null: row by row, no gaps
  mutable std::unique_ptr<const PartHandle> part;

  bool is_contiguous() const { return steps == nullptr; }
  /// Computes what is deferred: this may let go of the GIL.
  const Memory& memory() const {
    if (deferred != nullptr) fill_memory();
    return filled;
  }
  Size item_bytes() const { return static_cast<Size>(size_of(stored_as)) << (is_complex ? 1 : 0); }
  /// A handle on memory that starts with the first element. The first time that an Array with an
  /// offset is asked, this lets go of the GIL for a moment.
  Buffer buffer() const { return offset == 0 ? memory()->buffer() : part_buffer(); }

 private:
  void fill_memory() const;
  Buffer part_buffer() const;
};

/// The Array of Python that this is, borrowed.
inline PyObject* object_of(const ArrayObject& array) noexcept {
  return reinterpret_cast<PyObject*>(const_cast<ArrayObject*>(&array));
}
bool is_array(pybind11::handle object) noexcept;
/// Whether it is of the class itself, and not of one that derives from it.
bool is_plain_array(pybind11::handle object) noexcept;
/// The Array whose method was called; AttributeError where its class never called Array's __init__.
const ArrayObject& made(PyObject* self);
/// Null for what is no Array, for one whose class never called Array's __init__, and for a complex
/// one, so that nobody computes with pairs who does not know them.
ArrayObject* array_in(pybind11::handle object) noexcept;
/// The same with complex ones.
ArrayObject* any_array_in(pybind11::handle object) noexcept;

/// A new Array of Python's class in memory of its own, contents undefined. The shape is a tuple of
/// int that are not negative.
pybind11::object new_array(PyObject* backend, pybind11::handle shape, DType dtype,
                           bool is_complex = false);

/// The same in memory that is there.
pybind11::object new_array_in(Memory memory, PyObject* backend, pybind11::handle shape, DType dtype,
                              bool is_complex);

/// Memory of Arrays, contents undefined: of no elements too.
Memory new_memory(PyObject* backend, Size elements, DType dtype, bool is_complex = false);

/// The same whose elements a deferred call will give.
pybind11::object new_deferred(PyObject* backend, pybind11::handle shape, DType dtype,
                              std::shared_ptr<Deferred> deferred);

/// An Array on a part of the memory of another, or on all of it in another shape. Where a dimension
/// has no elements, neither strides nor offset say anything.
pybind11::object new_view(const ArrayObject& of, pybind11::handle shape,
                          std::span<const Size> strides, Size offset);
/// The same of the parts of complex elements, or of pairs of elements as complex ones: strides and
/// offset count elements of the view.
pybind11::object new_view(const ArrayObject& of, pybind11::handle shape,
                          std::span<const Size> strides, Size offset, bool is_complex);

/// How many elements a shape has; InvalidArgument where 64 bits do not count their bytes.
Size elements_of(const char* call, pybind11::handle shape);

/// NumPy's dtype of real elements; of bfloat16 the package's own.
PyObject* numpy_dtype(DType dtype) noexcept;
/// The DType that is NumPy's `dtype`; InvalidArgument where there is none, as for complex ones.
DType to_stored_as(pybind11::handle dtype, const char* call);
/// The DType of a complex dtype's parts; none for real ones.
std::optional<DType> parts_of(pybind11::handle dtype);

void bind_array(pybind11::module_& module);

}  // namespace tilewright::bindings
