#include "bindings/array.hpp"

#include <pybind11/numpy.h>

#include <cstdint>

#include "bindings/call.hpp"
#include "bindings/self.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

Storage::Storage(const std::shared_ptr<Backend>& backend, Size bytes)
    : owned_(without_gil([&] { return std::make_shared<const Owned>(backend, bytes); })) {}

py::object Storage::host_memory() const {
  std::shared_ptr<std::byte> start;
  Size bytes = 0;
  without_gil([&] {
    start = owned_->backend->host_memory(owned_->buffer);
    bytes = owned_->backend->buffer_bytes(owned_->buffer);
  });
  if (!start) return py::none();
  auto* const data = reinterpret_cast<std::uint8_t*>(start.get());
  auto kept = std::make_unique<std::shared_ptr<std::byte>>(std::move(start));
  const py::capsule owner(
      kept.get(), [](void* memory) { delete static_cast<std::shared_ptr<std::byte>*>(memory); });
  kept.release();
  return py::array_t<std::uint8_t>(bytes, data, owner);
}

void bind_array(py::module_& m) {
  py::class_<Storage> cls(m, "Storage", "A device buffer that is freed with its last owner.");
  cls.def(py::init([](const std::shared_ptr<Backend>& backend, Given<Size> bytes) {
            return Storage(backend, to_size(bytes.object, {"Storage", "bytes"}));
          }),
          py::arg("backend").none(false), py::arg("bytes"));
  cls.def(py::init([](Self<Storage> shared) { return *shared; }), py::arg("shared"),
          "Another owner of the same buffer.");
  cls.def_property_readonly(
      "handle", [](Self<Storage> self) { return self->buffer(); },
      "The trait's handle of the buffer.");
  cls.def(
      "host_memory", [](Self<Storage> self) { return self->host_memory(); },
      "The buffer's own memory as bytes, or None where the host cannot address it.");
}

}  // namespace tilewright::bindings
