#include "bindings/errors.hpp"

#include <new>
#include <string_view>

#include "bindings/convert.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

// Borrowed for the life of the process: exceptions may be raised until its end.
struct Classes {
  py::handle error, not_initialized, invalid_argument, index_out_of_range, unsupported,
      out_of_memory, device_error, device_lost, kernel_error, backend_unavailable;
} classes;

py::handle add_class(py::module_& module, const char* name, const char* doc, py::tuple bases) {
  const std::string full_name = std::string("tilewright.") + name;
  const auto made = py::reinterpret_steal<py::object>(
      PyErr_NewExceptionWithDoc(full_name.c_str(), doc, bases.ptr(), nullptr));
  if (!made) throw py::error_already_set();
  module.add_object(name, made);
  return made.inc_ref();
}

void raise(py::handle type, std::string_view message) {
  PyErr_SetObject(type.ptr(), to_str(message).ptr());
}

void raise_out_of_memory(const OutOfMemory& error) {
  const py::object raised = classes.out_of_memory(to_str(error.what()));
  raised.attr("requested_bytes") = error.requested_bytes();
  PyErr_SetObject(classes.out_of_memory.ptr(), raised.ptr());
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const NotInitialized& e) {
    raise(classes.not_initialized, e.what());
  } catch (const IndexOutOfRange& e) {
    raise(classes.index_out_of_range, e.what());
  } catch (const InvalidArgument& e) {
    raise(classes.invalid_argument, e.what());
  } catch (const Unsupported& e) {
    raise(classes.unsupported, e.what());
  } catch (const OutOfMemory& e) {
    raise_out_of_memory(e);
  } catch (const DeviceLost& e) {
    raise(classes.device_lost, e.what());
  } catch (const KernelError& e) {
    raise(classes.kernel_error, e.what());
  } catch (const BackendUnavailable& e) {
    raise(classes.backend_unavailable, e.what());
  } catch (const DeviceError& e) {
    raise(classes.device_error, e.what());
  } catch (const Error& e) {
    raise(classes.error, e.what());
  } catch (const std::bad_alloc&) {
    raise(classes.out_of_memory, "the system has no memory left");
  }
}

}  // namespace

void bind_errors(py::module_& m) {
  const auto bases = [](py::handle first, PyObject* builtin) {
    return py::make_tuple(first, py::handle(builtin));
  };
  classes.error = add_class(m, "Error", "The root of all that tilewright raises.",
                            py::make_tuple(py::handle(PyExc_Exception)));
  classes.not_initialized =
      add_class(m, "NotInitialized", "An op was called before init() or after close().",
                bases(classes.error, PyExc_RuntimeError));
  classes.invalid_argument =
      add_class(m, "InvalidArgument",
                "The request itself is wrong: a handle, a type, a shape, a scale or a name.",
                bases(classes.error, PyExc_ValueError));
  classes.index_out_of_range = add_class(m, "IndexOutOfRange", "An index lies outside its axis.",
                                         bases(classes.invalid_argument, PyExc_IndexError));
  classes.unsupported =
      add_class(m, "Unsupported", "The request is right, but this backend or device cannot do it.",
                bases(classes.error, PyExc_NotImplementedError));
  classes.out_of_memory = add_class(
      m, "OutOfMemory",
      "The device or the limit set on it is full now; free some and the request may succeed.",
      bases(classes.error, PyExc_MemoryError));
  classes.out_of_memory.attr("requested_bytes") = 0;
  classes.device_error =
      add_class(m, "DeviceError", "The device, its driver or its library failed.",
                bases(classes.error, PyExc_RuntimeError));
  const auto device_error = py::make_tuple(classes.device_error);
  classes.device_lost =
      add_class(m, "DeviceLost", "The device is gone; only close() and init() help.", device_error);
  classes.kernel_error =
      add_class(m, "KernelError", "A kernel did not compile. The message holds the compiler's log.",
                device_error);
  classes.backend_unavailable = add_class(
      m, "BackendUnavailable",
      "A backend or device cannot be used on this machine; the message says why.", device_error);
  py::register_local_exception_translator(translate);
}

}  // namespace tilewright::bindings
