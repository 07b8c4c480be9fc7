#include "bindings/dlpack.hpp"

#include <cstdint>
#include <cstring>

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

// As dlpack.h declares them, version 1.
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  struct {
    std::int32_t type, id;
  } device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
/// Of a capsule "dltensor"; what follows the tensor is of no concern here.
struct Managed {
  Tensor tensor;
};
/// Of a capsule "dltensor_versioned".
struct ManagedVersioned {
  struct {
    std::uint32_t major, minor;
  } version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

enum Code : std::uint8_t { unsigned_integer = 1, brain_float = 4 };

/// The tensor in a capsule that nobody has taken yet; null where there is none.
Tensor* tensor_in(py::handle capsule) {
  if (PyCapsule_CheckExact(capsule.ptr()) == 0) return nullptr;
  const char* const name = PyCapsule_GetName(capsule.ptr());
  if (name == nullptr) return nullptr;
  if (std::strcmp(name, "dltensor") == 0) {
    return &static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name))->tensor;
  }
  if (std::strcmp(name, "dltensor_versioned") != 0) return nullptr;
  auto* const managed = static_cast<ManagedVersioned*>(PyCapsule_GetPointer(capsule.ptr(), name));
  return managed->version.major == 1 ? &managed->tensor : nullptr;
}

bool relabel(py::handle capsule, Code from, Code to) {
  Tensor* const tensor = tensor_in(capsule);
  if (tensor == nullptr) return false;
  DataType& dtype = tensor->dtype;
  if (dtype.code != from || dtype.bits != 16 || dtype.lanes != 1) return false;
  dtype.code = to;
  return true;
}

}  // namespace

void bind_dlpack(py::module_& m) {
  m.def(
      "_dlpack_as_bfloat16",
      [](const py::object& capsule) { return relabel(capsule, unsigned_integer, brain_float); },
      py::arg("capsule"),
      "Makes a capsule of uint16 that nobody has taken one of bfloat16; False where it is none.");
  m.def(
      "_dlpack_as_uint16",
      [](const py::object& capsule) { return relabel(capsule, brain_float, unsigned_integer); },
      py::arg("capsule"),
      "Makes a capsule of bfloat16 that nobody has taken one of uint16; False where it is none.");
}

}  // namespace tilewright::bindings
