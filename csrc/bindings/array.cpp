#include "bindings/array.hpp"

#include <pybind11/numpy.h>
#include <structmember.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "bindings/call.hpp"
#include "bindings/method.hpp"
#include "bindings/self.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

// Borrowed for the life of the process.
PyTypeObject* base_class = nullptr;
PyTypeObject* array_class = nullptr;  // Python's Array
std::array<PyObject*, EnumNames<DType>::values.size()> numpy_dtypes{};
std::array<PyObject*, EnumNames<DType>::values.size()> dtype_names{};

ArrayObject* as_array(PyObject* self) { return reinterpret_cast<ArrayObject*>(self); }

Memory allocate(PyObject* backend, Size elements, DType dtype) {
  const std::shared_ptr<Backend>& owner = *holder_of<Backend>(backend);
  // A buffer cannot be empty, an array can.
  const Size bytes = std::max<Size>(1, elements * static_cast<Size>(size_of(dtype)));
  return without_gil([&] { return std::make_shared<const OwnedBuffer>(owner, bytes); });
}

void fill(ArrayObject* array, PyObject* backend, PyObject* shape, Size size, DType dtype,
          Memory memory) {
  array->backend = Py_NewRef(backend);
  array->shape = Py_NewRef(shape);
  array->dtype = Py_NewRef(numpy_dtype(dtype));
  array->size = size;
  array->stored_as = dtype;
  array->memory = std::move(memory);
}

// CPython's slots ---------------------------------------------------------------------------------

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) new (&as_array(self)->memory) Memory();
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
  const DType stored_as = to_stored_as(dtype, call);
  const Size size = elements_of(call, shape);
  Memory memory;
  if (shared != Py_None) {
    const ArrayObject* other = array_in(shared);
    if (other == nullptr) Argument{call, "shared"}.refuse(shared, "an Array or None");
    memory = other->memory;
  } else {
    memory = allocate(backend, size, stored_as);
  }
  fill(self, backend, shape, size, stored_as, std::move(memory));
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
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(as_array(self)->backend);
  return 0;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  ArrayObject* array = as_array(self);
  PyObject_GC_UnTrack(self);
  if (array->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_XDECREF(array->backend);
  Py_XDECREF(array->shape);
  Py_XDECREF(array->dtype);
  array->memory.~Memory();
  type->tp_free(self);
  Py_DECREF(type);
}

const ArrayObject& made(PyObject* self) {
  const ArrayObject* array = array_in(self);
  if (array == nullptr) throw py::attribute_error("the Array was never initialised");
  return *array;
}

PyObject* handle(PyObject* self, void*) {
  return guarded(nullptr, [&] {
    return PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(made(self).buffer()));
  });
}

PyObject* stored_as(PyObject* self, void*) {
  return guarded(nullptr, [&] {
    return Py_NewRef(dtype_names[static_cast<std::size_t>(made(self).stored_as)]);
  });
}

/// The buffer's own memory as a NumPy array of bytes, or None where the host cannot address it.
PyObject* host_memory(PyObject* self, PyObject*) {
  return guarded(nullptr, [&] {
    const Memory memory = made(self).memory;
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

PyMemberDef members[] = {
    {"backend", T_OBJECT_EX, offsetof(ArrayObject, backend), READONLY, nullptr},
    {"shape", T_OBJECT_EX, offsetof(ArrayObject, shape), READONLY, nullptr},
    {"dtype", T_OBJECT_EX, offsetof(ArrayObject, dtype), READONLY, nullptr},
    {"size", T_LONGLONG, offsetof(ArrayObject, size), READONLY, "How many elements it has."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weak_references), READONLY, nullptr},
    {}};

PyGetSetDef properties[] = {
    {"handle", handle, nullptr, "The trait's handle of the buffer.", nullptr},
    {"stored_as", stored_as, nullptr, "The dtype as the trait's calls take it.", nullptr},
    {}};

PyMethodDef methods[] = {
    {"host_memory", host_memory, METH_NOARGS,
     "host_memory(self) -> numpy.ndarray | None\n\nThe buffer's own memory as bytes, or None where "
     "the host cannot address it."},
    {}};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A shape, a dtype, and a buffer that is freed with its last "
                                  "owner.")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_init, reinterpret_cast<void*>(init_slot)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {0, nullptr}};

PyType_Spec spec = {"tilewright._core.ArrayBase", static_cast<int>(sizeof(ArrayObject)), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

bool is_array(py::handle object) noexcept {
  return PyObject_TypeCheck(object.ptr(), base_class) != 0;
}

ArrayObject* array_in(py::handle object) noexcept {
  if (Py_TYPE(object.ptr()) != array_class && !is_array(object)) return nullptr;
  ArrayObject* array = as_array(object.ptr());
  return array->backend != nullptr ? array : nullptr;
}

py::object new_array(PyObject* backend, py::handle shape, DType dtype) {
  const Size size = elements_of("empty", shape);
  Memory memory = allocate(backend, size, dtype);
  auto array = py::reinterpret_steal<py::object>(make(array_class, nullptr, nullptr));
  if (!array) throw py::error_already_set();
  fill(as_array(array.ptr()), backend, shape.ptr(), size, dtype, std::move(memory));
  return array;
}

Size elements_of(const char* call, py::handle shape) {
  constexpr Size too_many = Size{1} << 61;  // from here on their bytes overflow
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
    if (dtype.ptr() == numpy_dtypes[i]) return static_cast<DType>(i);
  }
  // Equal ones need not be the same object.
  if (py::isinstance<py::dtype>(dtype)) {
    for (std::size_t i = 0; i < numpy_dtypes.size(); ++i) {
      if (dtype.equal(py::handle(numpy_dtypes[i]))) return static_cast<DType>(i);
    }
  }
  Argument{call, "dtype"}.refuse(dtype, "NumPy's float32, float16 or int32");
}

void bind_array(py::module_& m) {
  const py::object numpy_dtype_class = py::module_::import("numpy").attr("dtype");
  for (std::size_t i = 0; i < numpy_dtypes.size(); ++i) {
    py::str name = to_str(EnumNames<DType>::values[i]);
    numpy_dtypes[i] = numpy_dtype_class(name).release().ptr();
    dtype_names[i] = name.release().ptr();
  }
  PyObject* made_class = PyType_FromModuleAndSpec(m.ptr(), &spec, nullptr);
  if (made_class == nullptr) throw py::error_already_set();
  base_class = array_class = reinterpret_cast<PyTypeObject*>(made_class);
  m.add_object("ArrayBase", made_class);
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
