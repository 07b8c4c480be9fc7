#include "bindings/array.hpp"

#include <pybind11/numpy.h>
#include <structmember.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bindings/array_arguments.hpp"
#include "bindings/array_complex.hpp"
#include "bindings/array_elementwise.hpp"
#include "bindings/array_index.hpp"
#include "bindings/array_map.hpp"
#include "bindings/array_shape.hpp"
#include "bindings/call.hpp"
#include "bindings/call_notes.hpp"
#include "bindings/deferred.hpp"
#include "bindings/method.hpp"
#include "bindings/self.hpp"
#include "core/state.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

// Borrowed for the life of the process.
PyTypeObject* base_class = nullptr;
PyTypeObject* array_class = nullptr;  // Python's Array
constexpr std::size_t dtype_count = EnumNames<DType>::values.size();
std::array<PyObject*, dtype_count> numpy_dtypes{};  // of bfloat16, which NumPy lacks, our own
std::array<PyObject*, dtype_count> dtype_names{};

/// The complex dtypes, of which NumPy's names are those of Arrays.
struct ComplexDType {
  DType parts;
  const char* name;
  PyObject* numpy = nullptr;
  PyObject* text = nullptr;
};
std::array complex_dtypes{ComplexDType{DType::float32, "complex64"},
                          ComplexDType{DType::float64, "complex128"}};

const ComplexDType& complex_of(DType parts) {
  return complex_dtypes[parts == complex_dtypes[0].parts ? 0 : 1];
}

ArrayObject* as_array(PyObject* self) { return reinterpret_cast<ArrayObject*>(self); }

void construct(ArrayObject* array) {
  new (&array->filled) Memory();
  new (&array->deferred) std::shared_ptr<Deferred>();
  new (&array->steps) std::unique_ptr<const Size[]>();
  new (&array->part) std::unique_ptr<const PartHandle>();
}

/// An Array whose memory is still to come.
py::object unfilled() {
  PyObject* self = array_class->tp_alloc(array_class, 0);
  if (self == nullptr) throw py::error_already_set();
  construct(as_array(self));
  return py::reinterpret_steal<py::object>(self);
}

void fill(ArrayObject* array, PyObject* backend, PyObject* shape, Size size, DType dtype,
          bool is_complex, Memory memory) {
  array->backend = Py_NewRef(backend);
  array->shape = Py_NewRef(shape);
  array->dtype = Py_NewRef(is_complex ? complex_of(dtype).numpy : numpy_dtype(dtype));
  array->size = size;
  array->stored_as = dtype;
  array->is_complex = is_complex;
  array->filled = std::move(memory);
}

// CPython's slots ---------------------------------------------------------------------------------

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) construct(as_array(self));
  return self;
}

void init(ArrayObject* self, PyObject* backend, PyObject* shape, PyObject* dtype,
          PyObject* shared) {
  constexpr const char* call = "Array";
  if (self->backend != nullptr) throw InvalidArgument("Array: it is already initialised");
  if (holder_of<Backend>(backend) == nullptr) {
    Argument{call, "backend"}.refuse(backend, "a Backend");
  }
  if (!PyTuple_CheckExact(shape)) Argument{call, "shape"}.refuse(shape, "a tuple of integers");
  for (const Size size : to_sizes(shape, {call, "shape"})) {
    if (size < 0) Argument{call, "shape"}.refuse(shape, "sizes of 0 or more");
  }
  const std::optional<DType> parts = parts_of(dtype);
  const DType stored_as = parts ? *parts : to_stored_as(dtype, call);
  const Size size = elements_of(call, shape);
  Memory memory;
  if (shared != Py_None) {
    const ArrayObject* other = any_array_in(shared);
    if (other == nullptr) Argument{call, "shared"}.refuse(shared, "an Array or None");
    if (!other->is_contiguous() || other->offset != 0) {
      Argument{call, "shared"}.refuse(shared, "an Array that starts with its memory, row by row");
    }
    memory = other->memory();
  } else {
    memory = new_memory(backend, size, stored_as, parts.has_value());
  }
  fill(self, backend, shape, size, stored_as, parts.has_value(), std::move(memory));
}

int init_slot(PyObject* self, PyObject* arguments, PyObject* named) {
  static const char* const names[] = {"backend", "shape", "dtype", "shared", nullptr};
  PyObject *backend, *shape, *dtype, *shared = Py_None;
  if (PyArg_ParseTupleAndKeywords(arguments, named, "OOO|O:Array", const_cast<char**>(names),
                                  &backend, &shape, &dtype, &shared) == 0) {
    return -1;
  }
  return guarded(-1, [&] {
    init(as_array(self), backend, shape, dtype, shared);
    return 0;
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_array(self)->backend);
  if (const Deferred* deferred = as_array(self)->deferred.get()) {
    for (const CallOperand& operand : deferred->call.operands) Py_VISIT(operand.kept.ptr());
  }
  return 0;
}

int clear(PyObject* self) {
  if (Deferred* const deferred = as_array(self)->deferred.get()) withdraw(*deferred);
  Py_CLEAR(as_array(self)->backend);
  return 0;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  ArrayObject* array = as_array(self);
  PyObject_GC_UnTrack(self);
  // Callbacks of weak references may compute all that waits.
  if (array->deferred != nullptr) withdraw(*array->deferred);
  if (array->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_XDECREF(array->backend);
  Py_XDECREF(array->shape);
  Py_XDECREF(array->dtype);
  std::destroy_at(&array->part);
  std::destroy_at(&array->steps);
  std::destroy_at(&array->deferred);
  std::destroy_at(&array->filled);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* handle(PyObject* self, void*) {
  return guarded(nullptr, [&] {
    const ArrayObject& array = made(self);
    expose(array);
    return PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(array.buffer()));
  });
}

PyObject* stored_as(PyObject* self, void*) {
  return guarded(nullptr, [&] {
    const ArrayObject& array = made(self);
    return Py_NewRef(array.is_complex ? complex_of(array.stored_as).text
                                      : dtype_names[static_cast<std::size_t>(array.stored_as)]);
  });
}

/// The buffer's own memory as a NumPy array of bytes, or None where the host cannot address it.
PyObject* host_memory(PyObject* self, PyObject*) {
  return guarded(nullptr, [&] {
    expose(made(self));
    const Memory memory = made(self).memory();
    std::shared_ptr<std::byte> start;
    Size bytes = 0;
    without_gil([&] {
      start = memory->backend()->host_memory(memory->buffer());
      bytes = memory->backend()->buffer_bytes(memory->buffer());
    });
    if (!start) return py::object(py::none()).release().ptr();
    auto* const data = reinterpret_cast<std::uint8_t*>(start.get());
    auto kept = std::make_unique<std::shared_ptr<std::byte>>(std::move(start));
    const py::capsule owner(kept.get(), [](void* pointer) {
      delete static_cast<std::shared_ptr<std::byte>*>(pointer);
    });
    kept.release();
    return py::array_t<std::uint8_t>(bytes, data, owner).release().ptr();
  });
}

PyObject* strides(PyObject* self, void*) {
  return guarded(nullptr, [&] { return strides_of(made(self)).tuple().release().ptr(); });
}

PyObject* offset(PyObject* self, void*) {
  return guarded(nullptr, [&] { return PyLong_FromLongLong(made(self).offset); });
}

PyObject* is_contiguous(PyObject* self, void*) {
  return guarded(nullptr, [&] { return PyBool_FromLong(made(self).is_contiguous() ? 1 : 0); });
}

/// The Array itself where its elements lie row by row, else a copy.
PyObject* contiguous_method(PyObject* self, PyObject*) {
  return guarded(nullptr, [&] {
    const ArrayObject& array = made(self);
    return array.is_contiguous() ? Py_NewRef(self) : copied(array).release().ptr();
  });
}

PyObject* copy_method(PyObject* self, PyObject*) {
  return guarded(nullptr, [&] { return copied(made(self)).release().ptr(); });
}

/// Whether two Arrays meet in memory.
PyObject* overlaps(PyObject* self, PyObject* other) {
  return guarded(nullptr, [&] {
    if (any_array_in(other) == nullptr) Argument{"overlaps", "other"}.refuse(other, "an Array");
    return PyBool_FromLong(overlap(made(self), *any_array_in(other)) ? 1 : 0);
  });
}

PyMemberDef members[] = {
    {"backend", T_OBJECT_EX, offsetof(ArrayObject, backend), READONLY, nullptr},
    {"shape", T_OBJECT_EX, offsetof(ArrayObject, shape), READONLY, nullptr},
    {"dtype", T_OBJECT_EX, offsetof(ArrayObject, dtype), READONLY, nullptr},
    {"size", T_LONGLONG, offsetof(ArrayObject, size), READONLY, "How many elements it has."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weak_references), READONLY, nullptr},
    {}};

PyGetSetDef properties[] = {
    {"handle", handle, nullptr, "The trait's handle of the elements; of a view, a view's.",
     nullptr},
    {"strides", strides, nullptr, "The steps from element to element, counted in elements.",
     nullptr},
    {"offset", offset, nullptr, "Where the first element lies in memory, in elements.", nullptr},
    {"is_contiguous", is_contiguous, nullptr, "Whether the elements lie row by row without gaps.",
     nullptr},
    {"stored_as", stored_as, nullptr, "The dtype as the trait's calls take it.", nullptr},
    {"ndim", ndim_property, nullptr, "How many dimensions it has.", nullptr},
    {"itemsize", itemsize_property, nullptr, "The bytes of an element.", nullptr},
    {"nbytes", nbytes_property, nullptr, "The bytes of its elements.", nullptr},
    {"T", transposed_property, nullptr, "A view with the axes in reverse order.", nullptr},
    {"mT", matrix_transposed_property, nullptr, "A view with the last two axes swapped.", nullptr},
    {}};

PyMethodDef methods[] = {
    {"host_memory", host_memory, METH_NOARGS,
     "host_memory(self) -> numpy.ndarray | None\n\nThe buffer's own memory as bytes, or None where "
     "the host cannot address it. Of a view, that of all the memory that it is a part of."},
    {"_contiguous", contiguous_method, METH_NOARGS,
     "_contiguous(self) -> Array\n\nThe Array itself where its elements lie row by row, else a "
     "copy."},
    {"copy", copy_method, METH_NOARGS,
     "copy(self) -> Array\n\nThe same elements in memory of their own, row by row."},
    {"overlaps", overlaps, METH_O,
     "overlaps(self, other: Array) -> bool\n\nWhether the two may share elements, by the first "
     "and last byte of each."},
    {"_same_floats", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(same_floats_method)),
     METH_FASTCALL,
     "_same_floats(self, *others: object) -> bool\n\nWhether all are Arrays of one class, of "
     "floats "
     "of one dtype on one backend."},
    {"_view", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(view_method)), METH_FASTCALL,
     "_view(self, shape: tuple, strides: Sequence[int], offset: int) -> Array\n\nA view on its "
     "memory."},
    {"_permuted", permuted_method, METH_O,
     "_permuted(self, axes: tuple) -> Array\n\nA view with all axes in this order."},
    {"_broadcast", broadcast_method, METH_O,
     "_broadcast(self, shape: tuple) -> Array | None\n\nA view in which elements of axes of one "
     "stand for many; None where the Array does not broadcast to the shape."},
    {"_reshaped", reshaped_method, METH_O,
     "_reshaped(self, shape: tuple) -> Array | None\n\nA view of another shape, one size of which "
     "may be -1; None where it takes a copy, or the shape is no tuple of int with as many "
     "elements."},
    {"_parts", reinterpret_cast<PyCFunction>(parts_method), METH_NOARGS,
     "_parts(self) -> Array\n\nA view of complex elements as real ones, with a last axis of two."},
    {"_part", reinterpret_cast<PyCFunction>(part_method), METH_O,
     "_part(self, which: int) -> Array\n\nA view of the real parts, or with 1 of the imaginary "
     "ones, of complex elements."},
    {"_paired", reinterpret_cast<PyCFunction>(paired_method), METH_NOARGS,
     "_paired(self) -> Array\n\nA complex view of pairs along the last axis, as _parts() gives "
     "them."},
    {"_conj", reinterpret_cast<PyCFunction>(conj_method), METH_NOARGS,
     "_conj(self) -> Array\n\nThe complex conjugates of complex elements."},
    {"_angle", reinterpret_cast<PyCFunction>(angle_method), METH_NOARGS,
     "_angle(self) -> Array\n\nThe angles of complex elements."},
    {}};

PyType_Slot own_slots[] = {
    {Py_tp_doc, const_cast<char*>("A shape, a dtype, strides, and a buffer that is freed with its "
                                  "last owner.")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_init, reinterpret_cast<void*>(init_slot)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods}};

PyObject* make_class(PyObject* module) {
  std::vector<PyType_Slot> slots(std::begin(own_slots), std::end(own_slots));
  for (const PyType_Slot& slot : operator_slots()) slots.push_back(slot);
  for (const PyType_Slot& slot : index_slots()) slots.push_back(slot);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"tilewright._core.ArrayBase", static_cast<int>(sizeof(ArrayObject)), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  return PyType_FromModuleAndSpec(module, &spec, nullptr);
}

}  // namespace

const ArrayObject& made(PyObject* self) {
  const ArrayObject* array = any_array_in(self);
  if (array == nullptr) throw py::attribute_error("the Array was never initialised");
  return *array;
}

bool is_array(py::handle object) noexcept {
  return PyObject_TypeCheck(object.ptr(), base_class) != 0;
}

bool is_plain_array(py::handle object) noexcept { return Py_TYPE(object.ptr()) == array_class; }

ArrayObject* any_array_in(py::handle object) noexcept {
  if (Py_TYPE(object.ptr()) != array_class && !is_array(object)) return nullptr;
  ArrayObject* array = as_array(object.ptr());
  return array->backend != nullptr ? array : nullptr;
}

ArrayObject* array_in(py::handle object) noexcept {
  ArrayObject* array = any_array_in(object);
  return array != nullptr && !array->is_complex ? array : nullptr;
}

ArrayMemory::ArrayMemory(const std::shared_ptr<Backend>& backend, Size bytes, AtHand)
    : OwnedBuffer(backend, alloc_at_hand(*backend, bytes), bytes) {}

namespace {

Memory memory_of(const std::shared_ptr<Backend>& owner, Size elements, DType dtype,
                 bool is_complex) {
  // A buffer cannot be empty, an array can.
  const Size bytes =
      std::max<Size>(1, elements * static_cast<Size>(size_of(dtype)) * (is_complex ? 2 : 1));
  // A freed buffer takes less than letting go of the GIL.
  Memory freed = std::make_shared<const ArrayMemory>(owner, bytes, ArrayMemory::AtHand());
  if (*freed) return freed;
  const auto take = [&] {
    return without_gil([&] { return std::make_shared<const ArrayMemory>(owner, bytes); });
  };
  try {
    return take();
  } catch (const OutOfMemory&) {
    // What waits may hold the last of operands.
    make_room(*owner);
  }
  return take();
}

}  // namespace

Memory new_memory(PyObject* backend, Size elements, DType dtype, bool is_complex) {
  Memory memory = memory_of(*holder_of<Backend>(backend), elements, dtype, is_complex);
  if (CallNotes* const notes = CallNotes::here()) {
    notes->made(*memory, elements, dtype, is_complex);
  }
  return memory;
}

py::object new_array(PyObject* backend, py::handle shape, DType dtype, bool is_complex) {
  return new_array_in(new_memory(backend, elements_of("empty", shape), dtype, is_complex), backend,
                      shape, dtype, is_complex);
}

py::object new_array_in(Memory memory, PyObject* backend, py::handle shape, DType dtype,
                        bool is_complex) {
  py::object array = unfilled();
  fill(as_array(array.ptr()), backend, shape.ptr(), elements_of("empty", shape), dtype, is_complex,
       std::move(memory));
  return array;
}

py::object new_deferred(PyObject* backend, py::handle shape, DType dtype,
                        std::shared_ptr<Deferred> deferred) {
  py::object array = unfilled();
  fill(as_array(array.ptr()), backend, shape.ptr(), elements_of("empty", shape), dtype, false, {});
  as_array(array.ptr())->deferred = std::move(deferred);
  return array;
}

void ArrayObject::fill_memory() const { compute(*this); }

py::object new_view(const ArrayObject& of, py::handle shape, std::span<const Size> strides,
                    Size offset) {
  return new_view(of, shape, strides, offset, of.is_complex);
}

py::object new_view(const ArrayObject& of, py::handle shape, std::span<const Size> strides,
                    Size offset, bool is_complex) {
  const Size size = elements_of("view", shape);
  py::object array = unfilled();
  ArrayObject* view = as_array(array.ptr());
  fill(view, of.backend, shape.ptr(), size, of.stored_as, is_complex, of.memory());
  if (size == 0) return array;
  view->offset = offset;
  Size step = 1;
  bool contiguous = true;
  for (std::size_t i = strides.size(); i-- > 0;) {
    const Size count = PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), i));
    if (count != 1 && strides[i] != step) {
      contiguous = false;
      break;
    }
    step *= count;
  }
  if (!contiguous) {
    auto steps = std::make_unique_for_overwrite<Size[]>(strides.size());
    std::copy(strides.begin(), strides.end(), steps.get());
    view->steps = std::move(steps);
  }
  return array;
}

Buffer ArrayObject::part_buffer() const {
  if (part == nullptr) {
    const Memory whole = memory();
    const std::shared_ptr<Backend>& owner = whole->backend();
    const Size start = offset * item_bytes();
    const Buffer made =
        without_gil([&] { return owner->view(whole->buffer(), start, whole->bytes() - start); });
    if (CallNotes* const notes = CallNotes::here()) notes->made_part(made, whole->buffer(), start);
    auto fresh = std::make_unique<const PartHandle>(owner, made);
    // Another thread may have been here meanwhile.
    if (part == nullptr) part = std::move(fresh);
  }
  return part->buffer;
}

Size elements_of(const char* call, py::handle shape) {
  constexpr Size too_many = Size{1} << 59;  // from here on their bytes overflow
  if (PyTuple_GET_SIZE(shape.ptr()) > static_cast<Py_ssize_t>(max_rank)) {
    throw InvalidArgument(text(call, ": a shape of ", PyTuple_GET_SIZE(shape.ptr()),
                               " dimensions, expected at most ", max_rank));
  }
  Size count = 1;
  bool empty = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape.ptr()); ++i) {
    const Size size = PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), i));
    if (size == 0) {
      empty = true;
    } else if (count >= too_many / size) {
      throw InvalidArgument(
          text(call, ": shape is ", shown(shape), ", more bytes than 64 bits count"));
    } else {
      count *= size;
    }
  }
  return empty ? 0 : count;
}

PyObject* numpy_dtype(DType dtype) noexcept {
  return numpy_dtypes[static_cast<std::size_t>(dtype)];
}

DType to_stored_as(py::handle dtype, const char* call) {
  for (std::size_t i = 0; i < numpy_dtypes.size(); ++i) {
    if (numpy_dtypes[i] != nullptr && dtype.ptr() == numpy_dtypes[i]) return static_cast<DType>(i);
  }
  // Equal ones need not be the same object.
  if (py::isinstance<py::dtype>(dtype)) {
    for (std::size_t i = 0; i < numpy_dtypes.size(); ++i) {
      if (numpy_dtypes[i] != nullptr && dtype.equal(py::handle(numpy_dtypes[i]))) {
        return static_cast<DType>(i);
      }
    }
  }
  Argument{call, "dtype"}.refuse(dtype, "one of NumPy's dtypes of bool, integers and floats");
}

std::optional<DType> parts_of(py::handle dtype) {
  for (const ComplexDType& one : complex_dtypes) {
    if (dtype.ptr() == one.numpy) return one.parts;
  }
  if (!py::isinstance<py::dtype>(dtype)) return std::nullopt;
  for (const ComplexDType& one : complex_dtypes) {
    if (dtype.equal(py::handle(one.numpy))) return one.parts;
  }
  return std::nullopt;
}

void bind_array(py::module_& m) {
  const py::object numpy_dtype_class = py::module_::import("numpy").attr("dtype");
  for (std::size_t i = 0; i < numpy_dtypes.size(); ++i) {
    py::str name = to_str(EnumNames<DType>::values[i]);
    if (static_cast<DType>(i) != DType::bfloat16) {
      numpy_dtypes[i] = numpy_dtype_class(name).release().ptr();
    }
    dtype_names[i] = name.release().ptr();
  }
  for (ComplexDType& one : complex_dtypes) {
    one.text = py::str(one.name).release().ptr();
    one.numpy = numpy_dtype_class(one.name).release().ptr();
  }
  PyObject* made_class = make_class(m.ptr());
  if (made_class == nullptr) throw py::error_already_set();
  base_class = array_class = reinterpret_cast<PyTypeObject*>(made_class);
  m.add_object("ArrayBase", made_class);
  m.def(
      "_set_bfloat16",
      [](py::object dtype) {
        numpy_dtypes[static_cast<std::size_t>(DType::bfloat16)] = dtype.release().ptr();
      },
      py::arg("dtype"), "What Arrays of bfloat16 have as their dtype.");
  m.def(
      "_set_array_class",
      [](const py::type& cls) {
        if (PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls.ptr()), base_class) == 0) {
          throw py::type_error("expected a class that derives from ArrayBase");
        }
        array_class = reinterpret_cast<PyTypeObject*>(py::type(cls).release().ptr());
      },
      py::arg("cls"), "What ops make their results of.");
}

}  // namespace tilewright::bindings
