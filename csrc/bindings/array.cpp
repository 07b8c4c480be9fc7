#include "bindings/array.hpp"

#include "bindings/call.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

// The Python class of Storage, borrowed for the life of the process.
PyTypeObject* storage_class = nullptr;

/// Memory of a buffer, kept alive by whoever looks at it.
struct HostMemory {
  std::shared_ptr<std::byte> start;
  Size bytes;
};

}  // namespace

Storage::Storage(const std::shared_ptr<Backend>& backend, Size bytes)
    : owned_(without_gil([&] { return std::make_shared<const Owned>(backend, bytes); })) {}

py::object Storage::host_memory() const {
  HostMemory memory = without_gil([&] {
    return HostMemory{owned_->backend->host_memory(owned_->buffer),
                      owned_->backend->buffer_bytes(owned_->buffer)};
  });
  if (!memory.start) return py::none();
  return py::cast(std::move(memory));
}

const Storage* as_storage(py::handle object) noexcept {
  if (!PyObject_TypeCheck(object.ptr(), storage_class)) return nullptr;
  py::detail::make_caster<Storage> caster;
  return caster.load(object, false) ? static_cast<Storage*>(caster) : nullptr;
}

void bind_array(py::module_& m) {
  py::class_<HostMemory>(m, "HostMemory", py::buffer_protocol(),
                         "The memory of a buffer that the host can address.")
      .def_buffer([](HostMemory& self) {
        return py::buffer_info(reinterpret_cast<std::uint8_t*>(self.start.get()), self.bytes);
      });

  py::class_<Storage> cls(m, "Storage", "A device buffer that is freed with its last owner.");
  cls.def(py::init([](const std::shared_ptr<Backend>& backend, Given<Size> bytes) {
            return Storage(backend, to_size(bytes.object, {"Storage", "bytes"}));
          }),
          py::arg("backend"), py::arg("bytes"));
  cls.def(py::init<const Storage&>(), py::arg("shared"), "Another owner of the same buffer.");
  cls.def_property_readonly("handle", &Storage::buffer, "The trait's handle of the buffer.");
  cls.def("host_memory", &Storage::host_memory,
          "The buffer's own memory, or None where the host cannot address it.");
  storage_class = reinterpret_cast<PyTypeObject*>(cls.ptr());
}

}  // namespace tilewright::bindings
