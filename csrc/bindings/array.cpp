#include "bindings/array.hpp"

#include "bindings/call.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

// The Python class of Storage, borrowed for the life of the process.
PyTypeObject* storage_class = nullptr;

}  // namespace

Storage::Storage(std::shared_ptr<Backend> backend, Size bytes)
    : owned_(without_gil([&] { return std::make_shared<const Owned>(backend, bytes); })) {}

const Storage* as_storage(py::handle object) noexcept {
  if (!PyObject_TypeCheck(object.ptr(), storage_class)) return nullptr;
  py::detail::make_caster<Storage> caster;
  return caster.load(object, false) ? static_cast<Storage*>(caster) : nullptr;
}

void bind_array(py::module_& m) {
  py::class_<Storage> cls(m, "Storage", "A device buffer that is freed with its last owner.");
  cls.def(py::init([](const std::shared_ptr<Backend>& backend, Given<Size> bytes) {
            return Storage(backend, to_size(bytes.object, {"Storage", "bytes"}));
          }),
          py::arg("backend"), py::arg("bytes"));
  cls.def(py::init<const Storage&>(), py::arg("shared"), "Another owner of the same buffer.");
  cls.def_property_readonly("handle", &Storage::buffer, "The trait's handle of the buffer.");
  storage_class = reinterpret_cast<PyTypeObject*>(cls.ptr());
}

}  // namespace tilewright::bindings
