#include "bindings/structs.hpp"

#include <array>
#include <string>
#include <vector>

#include "bindings/enums.hpp"
#include "bindings/self.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"
#include "tilewright/device.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

py::object to_python(const std::string& value) { return to_str(value); }
py::object to_python(double value) { return py::float_(value); }
py::object to_python(bool value) { return py::bool_(value); }
py::object to_python(std::uint32_t value) { return py::int_(value); }
py::object to_python(std::uint64_t value) { return py::int_(value); }
py::object to_python(DeviceKind value) { return to_member(value); }
py::object to_python(DType value) { return to_member(value); }

py::object to_python(const std::array<std::uint32_t, 3>& values) {
  return py::make_tuple(values[0], values[1], values[2]);
}
py::object to_python(const KernelBinding& value) { return py::cast(value); }
py::object to_python(const KernelParameter& value) { return py::cast(value); }

template <class T>
py::object to_python(const std::vector<T>& values) {
  py::list all;
  for (const T& value : values) all.append(to_python(value));
  return py::tuple(all);
}

py::object to_python(const std::map<std::string, std::uint64_t>& values) {
  py::dict all;
  for (const auto& [key, value] : values) all[to_str(key)] = value;
  return all;
}

template <class Struct>
class ReadOnly {
 public:
  ReadOnly(py::module_& module, const char* name, const char* doc) : class_(module, name, doc) {
    class_.attr("__module__") = "tilewright";
  }

  template <class T>
  ReadOnly& with(const char* name, T Struct::* member) {
    class_.def_property_readonly(
        name, [member](Self<Struct> self) { return to_python((*self).*member); });
    names_.append(name);
    return *this;
  }

  void printed() {
    class_.def("__repr__", [names = names_](py::handle self) {
      std::string attributes;
      for (const py::handle name : names) {
        attributes += text(attributes.empty() ? "" : ", ", py::cast<std::string>(name), "=",
                           py::cast<std::string>(py::repr(self.attr(name))));
      }
      return text(py::cast<std::string>(py::type::of(self).attr("__name__")), "(", attributes, ")");
    });
  }

 private:
  py::class_<Struct> class_;
  py::list names_;
};

}  // namespace

void bind_structs(py::module_& m) {
  ReadOnly<DeviceInfo>(m, "DeviceInfo", "One device as one backend sees it.")
      .with("id", &DeviceInfo::id)
      .with("backend", &DeviceInfo::backend)
      .with("name", &DeviceInfo::name)
      .with("kind", &DeviceInfo::kind)
      .with("driver", &DeviceInfo::driver)
      .with("memory_bytes", &DeviceInfo::memory_bytes)
      .with("limits", &DeviceInfo::limits)
      .with("features", &DeviceInfo::features)
      .with("matrix_shapes", &DeviceInfo::matrix_shapes)
      .with("implementation", &DeviceInfo::implementation)
      .with("implementation_why", &DeviceInfo::implementation_why)
      .with("available", &DeviceInfo::available)
      .with("reason", &DeviceInfo::reason)
      .printed();
  ReadOnly<Capabilities>(m, "Capabilities", "What an initialised backend can do.")
      .with("dtypes", &Capabilities::dtypes)
      .with("storage_dtypes", &Capabilities::storage_dtypes)
      .with("limits", &Capabilities::limits)
      .with("features", &Capabilities::features)
      .with("memory_bytes", &Capabilities::memory_bytes)
      .with("max_buffer_bytes", &Capabilities::max_buffer_bytes)
      .with("compute_units", &Capabilities::compute_units)
      .printed();
  ReadOnly<PerformanceHints>(m, "PerformanceHints", "What suits the device.")
      .with("simd_width", &PerformanceHints::simd_width)
      .with("preferred_alignment", &PerformanceHints::preferred_alignment)
      .with("cache_bytes", &PerformanceHints::cache_bytes)
      .with("preferred_workgroup_size", &PerformanceHints::preferred_workgroup_size)
      .with("concurrency", &PerformanceHints::concurrency)
      .printed();
  ReadOnly<MemoryStats>(m, "MemoryStats", "What the buffers of a backend take.")
      .with("active_bytes", &MemoryStats::active_bytes)
      .with("peak_bytes", &MemoryStats::peak_bytes)
      .with("peak_scratch_bytes", &MemoryStats::peak_scratch_bytes)
      .with("cached_bytes", &MemoryStats::cached_bytes)
      .with("cache_limit_bytes", &MemoryStats::cache_limit_bytes)
      .with("allocations", &MemoryStats::allocations)
      .with("total_allocations", &MemoryStats::total_allocations)
      .with("limit_bytes", &MemoryStats::limit_bytes)
      .printed();
  ReadOnly<KernelBinding>(m, "KernelBinding", "A buffer that a kernel's code declares.")
      .with("name", &KernelBinding::name)
      .with("writable", &KernelBinding::writable)
      .with("least_bytes", &KernelBinding::least_bytes)
      .printed();
  ReadOnly<KernelParameter>(m, "KernelParameter", "A parameter that a kernel's code declares.")
      .with("name", &KernelParameter::name)
      .with("type", &KernelParameter::type)
      .with("offset", &KernelParameter::offset)
      .with("bytes", &KernelParameter::bytes)
      .printed();
  ReadOnly<KernelInfo>(m, "KernelInfo", "What a launch of a kernel takes.")
      .with("name", &KernelInfo::name)
      .with("bindings", &KernelInfo::bindings)
      .with("params", &KernelInfo::params)
      .with("params_bytes", &KernelInfo::params_bytes)
      .with("workgroup_size", &KernelInfo::workgroup_size)
      .with("workgroup_bytes", &KernelInfo::workgroup_bytes)
      .with("compile_seconds", &KernelInfo::compile_seconds)
      .with("log", &KernelInfo::log)
      .printed();
  ReadOnly<LaunchRecord>(m, "LaunchRecord", "One launch of a kernel, by the device's clock.")
      .with("kernel", &LaunchRecord::kernel)
      .with("start_ns", &LaunchRecord::start_ns)
      .with("duration_ns", &LaunchRecord::duration_ns)
      .with("grid", &LaunchRecord::grid)
      .printed();
}

}  // namespace tilewright::bindings
