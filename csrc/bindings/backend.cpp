#include "bindings/backend.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "bindings/deferred.hpp"
#include "bindings/host_buffer.hpp"
#include "bindings/self.hpp"
#include "core/text.hpp"
#include "tilewright/registry.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

constexpr const char* config_keys =
    "adapter_index (or device_id), power_preference, implementation, debug_mode, kernel_checks, "
    "max_buffer_size, max_binding_size, enable_pipeline_cache, preferred_workgroup_size, "
    "compute_units, memory_limit, cache_limit";

/// Of the ops of the trait, those that take complex numbers too.
bool takes_complex(std::string_view op) {
  constexpr std::array<std::string_view, 8> names{
      "cholesky", "lu", "triangular_solve", "fft", "qr", "eigh", "svd", "eig"};
  return std::ranges::find(names, op) != names.end();
}

/// The dtype of each part of complex numbers, where a dtype is theirs.
std::optional<DType> parts_of(py::handle dtype) {
  const bool is_numpys = py::hasattr(dtype, "itemsize") && py::hasattr(dtype, "newbyteorder");
  const py::object name =
      is_numpys ? py::object(dtype.attr("name")) : py::reinterpret_borrow<py::object>(dtype);
  if (PyUnicode_CheckExact(name.ptr()) == 0) return {};
  if (name.equal(py::str("complex64"))) return DType::float32;
  if (name.equal(py::str("complex128"))) return DType::float64;
  return {};
}

Config to_config(const char* call, const py::kwargs& given) {
  Config config;
  bool index_given = false;
  for (const auto& [key, value] : given) {
    const std::string name = to_string(key, {call, "a config key"});
    const Argument argument{call, name.c_str()};
    if (name == "adapter_index" || name == "device_id") {
      if (index_given) argument.refuse(value, "adapter_index or device_id, not both");
      index_given = true;
      config.adapter_index = Convert<std::optional<Size>>::from(value, argument);
    } else if (name == "power_preference") {
      if (!value.is_none()) config.power_preference = to_string(value, argument);
    } else if (name == "implementation") {
      config.implementation = to_string(value, argument);
    } else if (name == "debug_mode") {
      config.debug_mode = to_bool(value, argument);
    } else if (name == "kernel_checks") {
      config.kernel_checks = to_bool(value, argument);
    } else if (name == "compute_units") {
      config.compute_units = Convert<std::optional<Size>>::from(value, argument);
    } else if (name == "max_buffer_size") {
      config.max_buffer_size = Convert<std::optional<Size>>::from(value, argument);
    } else if (name == "max_binding_size") {
      config.max_binding_size = Convert<std::optional<Size>>::from(value, argument);
    } else if (name == "enable_pipeline_cache") {
      config.enable_pipeline_cache = to_bool(value, argument);
    } else if (name == "preferred_workgroup_size") {
      config.preferred_workgroup_size = Convert<std::optional<Size>>::from(value, argument);
    } else if (name == "memory_limit") {
      config.memory_limit = Convert<std::optional<Size>>::from(value, argument);
    } else if (name == "cache_limit") {
      config.cache_limit = Convert<std::optional<Size>>::from(value, argument);
    } else {
      throw InvalidArgument(
          text(call, ": \"", name, "\" is no config key, expected one of ", config_keys));
    }
  }
  return config;
}

py::dict to_dict(const Config& config) {
  py::dict all;
  all["adapter_index"] = config.adapter_index;
  all["power_preference"] =
      config.power_preference.empty() ? py::object(py::none()) : to_str(config.power_preference);
  all["implementation"] = to_str(config.implementation);
  all["debug_mode"] = config.debug_mode;
  all["kernel_checks"] = config.kernel_checks;
  all["max_buffer_size"] = config.max_buffer_size;
  all["max_binding_size"] = config.max_binding_size;
  all["compute_units"] = config.compute_units;
  all["enable_pipeline_cache"] = config.enable_pipeline_cache;
  all["preferred_workgroup_size"] = config.preferred_workgroup_size;
  all["memory_limit"] = config.memory_limit;
  all["cache_limit"] = config.cache_limit;
  return all;
}

/// Looks for Dawn when webgpu may be used, and no sooner.
void find_dawn(std::string_view preference, const Config& config = {}) {
  if (lacks_dawn(preference, config)) py::module_::import("tilewright.dawn").attr("find")();
}

void bind_lifecycle(py::module_& m, BackendClass& cls) {
  cls.def(py::init([](const std::shared_ptr<Backend>& backend) { return backend; }),
          py::arg("backend").none(false), py::pos_only());
  cls.def(py::init([](Given<std::string> name, const py::kwargs& config) {
            const std::string wanted = to_string(name.object, {"Backend", "name"});
            const Config read = to_config("Backend", config);
            find_dawn(wanted, read);
            return make_backend(wanted, read);
          }),
          py::arg("name"), py::pos_only());
  cls.def_property_readonly("name", [](Self<Backend> self) { return to_str(self->name()); });
  cls.def_property_readonly("is_initialized",
                            [](Self<Backend> self) { return self->is_initialized(); });
  cls.def_property_readonly("config", [](Self<Backend> self) { return to_dict(self->config()); });
  cls.def_property_readonly(
      "device", [](Self<Backend> self) { return without_gil([&] { return self->device(); }); });
  def_call(cls, "init", &Backend::init, "Opens the device. Does nothing if it is open.");
  cls.def(
      "close",
      [](Self<Backend> self) {
        without_gil([&] { self->close(); });
        abandon_all(*self);
      },
      "Waits for calls that are running, frees every buffer and releases the device.");
  def_call(cls, "capabilities", &Backend::capabilities, "What the backend can do.");
  def_call(cls, "performance_hints", &Backend::performance_hints, "What suits the device.");
  cls.def(
      "supports",
      [](Self<Backend> self, Given<std::string> op, Given<DType> dtype,
         Given<std::optional<std::string>> kind, Given<std::optional<DType>> to) {
        constexpr const char* call = "supports";
        const std::string wanted = to_string(op.object, {call, "op"});
        const std::optional<DType> parts = parts_of(dtype.object);
        const DType stored_as =
            parts ? *parts : Convert<DType>::from(dtype.object, {call, "dtype"});
        auto of = Convert<std::optional<std::string>>::from(kind.object, {call, "kind"});
        const auto written = Convert<std::optional<DType>>::from(to.object, {call, "to"});
        if (of && of->empty()) Argument{call, "kind"}.refuse(kind.object, "a name");
        if (parts) {
          if (of.value_or("complex") != "complex") {
            Argument{call, "kind"}.refuse(kind.object, "'complex', as the dtype is");
          }
          if (!takes_complex(wanted)) {
            without_gil([&] { self->supports(wanted); });  // refuses what is no op
            return false;
          }
          of = "complex";
        }
        return without_gil(
            [&] { return self->supports(wanted, stored_as, of.value_or(""), written); });
      },
      py::arg("op"), py::arg("dtype") = "float32", py::arg("kind") = py::none(),
      py::arg("to") = py::none(),
      "Whether a call of the op on buffers of the dtype would run here. Of the dtype of each part, "
      "with the kind 'complex', an op takes complex numbers; 'complex64' says both.");
  cls.def(
      "available_ops",
      [](Self<Backend> self) {
        py::list names;
        for (const auto& name : without_gil([&] { return self->available_ops(); })) {
          names.append(to_str(name));
        }
        return names;
      },
      "The ops of the trait that run here on some dtype.");
  cls.def(
      "synchronize",
      [](Self<Backend> self) {
        compute_all(*self);
        without_gil([&] { self->synchronize(); });
      },
      "Returns when all queued work is done.");

  m.def(
      "init_backend",
      [](Given<std::string> preference, const py::kwargs& given) {
        const std::string wanted = to_string(preference.object, {"init_backend", "preference"});
        const Config config = to_config("init_backend", given);
        find_dawn(wanted, config);
        return without_gil([&] { return init_backend(wanted, config); });
      },
      py::arg("preference") = "auto", py::pos_only());
  m.def("devices", [] {
    find_dawn("auto");
    return without_gil([] { return devices(); });
  });
  m.def("backend_names", &backend_names);
  m.def(
      "is_available",
      [](Given<std::string> name) {
        const std::string wanted = to_string(name.object, {"is_available", "name"});
        find_dawn(wanted);
        return without_gil([&] { return is_available(wanted); });
      },
      py::arg("name"));
  m.def(
      "_set_dawn",
      [](const std::string& name, std::uintptr_t get_proc_address,
         std::uintptr_t enumerate_adapters, const std::string& reason) {
        set_dawn({name, reinterpret_cast<void*>(get_proc_address),
                  reinterpret_cast<void*>(enumerate_adapters), reason});
      },
      py::arg("name"), py::arg("get_proc_address"), py::arg("enumerate_adapters"),
      py::arg("reason"), "Says where Dawn is, or why it is not.");
  m.def(
      "_shown", [](const py::object& value) { return to_str(shown(value)); }, py::arg("value"),
      "The value as in the messages of the trait's calls.");
}

void bind_memory(BackendClass& cls) {
  def_call(cls, "alloc", &Backend::alloc, "The handle of a new buffer; contents undefined.",
           py::arg("bytes"));
  def_call(cls, "free", &Backend::free, "Work that is already queued on the buffer completes.",
           py::arg("buffer"));
  def_call(cls, "release", &Backend::release,
           "free() for owners that clean up: does nothing for a handle that is not live here.",
           py::arg("buffer"));
  cls.def(
      "view",
      [](Self<Backend> self, Given<Buffer> buffer, Given<Size> offset, Given<Size> bytes) {
        const Buffer of = to_buffer(buffer.object, {"view", "buffer", self.object});
        const Size at = to_size(offset.object, {"view", "offset"});
        const Size size = to_size(bytes.object, {"view", "bytes"});
        if (const ArrayObject* array = any_array_in(buffer.object)) expose(*array);
        return without_gil([&] { return self->view(of, at, size); });
      },
      py::arg("buffer"), py::arg("offset"), py::arg("bytes"),
      "A handle on a part of a buffer or of another view.");
  cls.def(
      "copy_htod",
      [](Self<Backend> self, Given<Buffer> dst, py::handle src, Given<Size> offset) {
        const Buffer to = to_buffer(dst.object, {"copy_htod", "dst", self.object});
        HostBuffer from(src, {"copy_htod", "src"}, HostBuffer::Access::read);
        const Size at = to_size(offset.object, {"copy_htod", "offset"});
        const auto bytes = from.bytes_within([&] { return self->buffer_bytes(to); });
        without_gil([&] { call_op(*self, &Backend::copy_htod, to, bytes, at); });
      },
      py::arg("dst"), py::arg("src"), py::arg("offset") = 0,
      "Copies all of src, anything with the buffer protocol, to dst at offset bytes.");
  cls.def(
      "copy_dtoh",
      [](Self<Backend> self, py::handle dst, Given<Buffer> src, Given<Size> offset) {
        HostBuffer to(dst, {"copy_dtoh", "dst"}, HostBuffer::Access::write);
        const Buffer from = to_buffer(src.object, {"copy_dtoh", "src", self.object});
        const Size at = to_size(offset.object, {"copy_dtoh", "offset"});
        const auto bytes = to.bytes_within([&] { return self->buffer_bytes(from); });
        without_gil([&] { self->copy_dtoh(bytes, from, at); });
        to.write_back();
      },
      py::arg("dst"), py::arg("src"), py::arg("offset") = 0,
      "Fills dst, anything writable with the buffer protocol, from src at offset bytes.");
  def_call(cls, "copy_dtod", &Backend::copy_dtod,
           "Copies within the device; overlapping ranges of one buffer are InvalidArgument.",
           py::arg("dst"), py::arg("src"), py::arg("bytes"), py::arg("dst_offset") = 0,
           py::arg("src_offset") = 0);
  def_call(cls, "buffer_bytes", &Backend::buffer_bytes, "The size that alloc or view was given.",
           py::arg("buffer"));
  def_call(cls, "memory_stats", &Backend::memory_stats, "What the live buffers take.");
  def_call(cls, "trim", &Backend::trim, "Gives cached memory back to the system.");
}

}  // namespace

BackendClass bind_backend(py::module_& m) {
  BackendClass cls(m, "Backend", "The backend trait, one to one.");
  bind_lifecycle(m, cls);
  bind_memory(cls);
  return cls;
}

}  // namespace tilewright::bindings
