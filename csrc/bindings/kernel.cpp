#include "bindings/kernel.hpp"

#include <optional>
#include <string>
#include <vector>

#include "bindings/deferred.hpp"
#include "bindings/host_buffer.hpp"
#include "bindings/self.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

using py::arg;

struct Code;
struct Buffers;
struct HostData;
struct Constants;

}  // namespace

// What the parameters below are called in signatures.
template <>
struct Convert<Code> {
  static constexpr auto name = py::detail::const_name("str | bytes");
};
template <>
struct Convert<Buffers> {
  static constexpr auto name = py::detail::const_name("Sequence[int | ArrayBase]");
};
template <>
struct Convert<Constants> {
  static constexpr auto name =
      py::detail::const_name("Mapping[str | int, bool | int | float] | None");
};
template <>
struct Convert<HostData> {
  static constexpr auto name = py::detail::const_name("Buffer");
};

namespace {

std::string to_code(py::handle given, const Argument& argument) {
  if (PyBytes_Check(given.ptr())) return py::reinterpret_borrow<py::bytes>(given);
  if (!PyUnicode_Check(given.ptr())) argument.refuse(given, "a str, or the bytes of a module");
  return to_string(given, argument);
}

/// bool and int as they are, also those of NumPy, and what else is a number as a float.
KernelConstant to_constant(py::handle given, const Argument& argument) {
  static const py::handle numpy_bool =
      py::object(py::module_::import("numpy").attr("bool_")).release();
  if (PyBool_Check(given.ptr()) || py::isinstance(given, numpy_bool)) {
    return PyObject_IsTrue(given.ptr()) == 1;
  }
  if (PyIndex_Check(given.ptr())) return to_size(given, argument);
  return to_double(given, argument);
}

std::map<std::string, KernelConstant> to_constants(py::handle given, const Argument& argument) {
  std::map<std::string, KernelConstant> constants;
  if (given.is_none()) return constants;
  if (!PyDict_Check(given.ptr())) argument.refuse(given, "a dict of names or numbers to values");
  // A copy: converting may run code that changes the dict.
  const auto items = py::reinterpret_steal<py::dict>(PyDict_Copy(given.ptr()));
  for (const auto& [key, value] : items) {
    const bool number = PyLong_Check(key.ptr()) && !PyBool_Check(key.ptr());
    const Argument of_key{argument.call, "constants: a key"};
    const std::string name = number ? std::to_string(to_size(key, of_key)) : to_string(key, of_key);
    const std::string shown = "constants: " + name;
    constants.insert_or_assign(name, to_constant(value, {argument.call, shown.c_str()}));
  }
  return constants;
}

KernelSource to_source(py::handle code, py::handle entry, py::handle name, py::handle trusted,
                       py::handle constants) {
  constexpr const char* call = "create_kernel";
  KernelSource source;
  source.code = to_code(code, {call, "code"});
  source.entry = to_string(entry, {call, "entry"});
  if (!name.is_none()) source.name = to_string(name, {call, "name"});
  source.trusted = to_bool(trusted, {call, "trusted"});
  source.constants = to_constants(constants, {call, "constants"});
  return source;
}

std::vector<Buffer> to_buffers(py::handle given, const Argument& argument) {
  constexpr std::string_view expected = "a sequence of buffer handles or Arrays";
  if (!PyList_Check(given.ptr()) && !PyTuple_Check(given.ptr())) argument.refuse(given, expected);
  std::vector<Buffer> buffers;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given.ptr()); ++i) {
    const auto item = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(given.ptr(), i));
    const std::string name = std::string(argument.name) + "[" + std::to_string(i) + "]";
    buffers.push_back(to_buffer(item, {argument.call, name.c_str(), argument.backend}));
  }
  return buffers;
}

void launch_kernel(Self<Backend> self, Given<Kernel> kernel, Given<Buffers> buffers,
                   Given<HostData> params, Given<std::array<Size, 3>> grid) {
  constexpr const char* call = "launch_kernel";
  const Kernel handle = to_kernel(kernel.object, {call, "kernel", self.object});
  const std::vector<Buffer> bound = to_buffers(buffers.object, {call, "buffers", self.object});
  HostBuffer data(params.object, {call, "params"}, HostBuffer::Access::read);
  const auto groups = Convert<std::array<Size, 3>>::from(grid.object, {call, "grid"});
  const auto bytes = data.bytes_within([&] { return self->kernel_info(handle).params_bytes; });
  without_gil([&] { self->launch_kernel(handle, bound, bytes, groups); });
}

}  // namespace

Kernel to_kernel(py::handle given, const Argument& argument) {
  if (const OwnedKernel* owned = instance_of<OwnedKernel>(given)) {
    if (owned->backend() == argument.backend) return owned->kernel();
    argument.refuse(given, "a Kernel of this backend");
  }
  return static_cast<Kernel>(to_handle(given, argument, "a kernel handle or a Kernel"));
}

void bind_kernel(py::module_& m, BackendClass& cls) {
  cls.def(
      "create_kernel",
      [](Self<Backend> self, Given<Code> code, Given<std::string> entry,
         Given<std::optional<std::string>> name, Given<bool> trusted, Given<Constants> constants) {
        const KernelSource source =
            to_source(code.object, entry.object, name.object, trusted.object, constants.object);
        return without_gil([&] { return self->create_kernel(source); });
      },
      arg("code"), arg("entry") = "main", arg("name") = py::none(), arg("trusted") = false,
      arg("constants") = py::none(), "The handle of a compiled kernel.");
  def_call(cls, "free_kernel", &Backend::free_kernel, "Launches that are already queued still run.",
           arg("kernel"));
  def_call(cls, "release_kernel", &Backend::release_kernel,
           "free_kernel() for owners that clean up: does nothing for a handle that is not live.",
           arg("kernel"));
  def_call(cls, "kernel_info", &Backend::kernel_info, "What a launch of the kernel takes.",
           arg("kernel"));
  cls.def("launch_kernel", &launch_kernel, arg("kernel"), arg("buffers"), arg("params"),
          arg("grid"), "Queues a grid of workgroups.");
  cls.def(
      "begin_profile",
      [](Self<Backend> self) {
        compute_all(*self);
        without_gil([&] { self->begin_profile(); });
      },
      "From here on the device times every launch.");
  cls.def(
      "end_profile",
      [](Self<Backend> self) {
        compute_all(*self);
        const Profile profile = without_gil([&] { return self->end_profile(); });
        py::list launches;
        for (const LaunchRecord& launch : profile.launches) launches.append(launch);
        return launches;
      },
      "The times of all launches since begin_profile().");

  py::class_<OwnedKernel> owned(m, "CompiledKernel", "A kernel that is freed with its last owner.");
  owned.def(py::init([](const std::shared_ptr<Backend>& backend, Given<Code> code,
                        Given<std::string> entry, Given<std::optional<std::string>> name,
                        Given<bool> trusted, Given<Constants> constants) {
              const KernelSource source = to_source(code.object, entry.object, name.object,
                                                    trusted.object, constants.object);
              return without_gil([&] { return std::make_unique<OwnedKernel>(backend, source); });
            }),
            arg("backend").none(false), arg("code"), arg("entry"), arg("name"), arg("trusted"),
            arg("constants"));
  owned.def_property_readonly(
      "handle", [](Self<OwnedKernel> self) { return self->kernel(); },
      "The trait's handle of the kernel.");
}

}  // namespace tilewright::bindings
