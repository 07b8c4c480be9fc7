#include "bindings/recording.hpp"

#include <memory>
#include <utility>

#include "bindings/deferred.hpp"
#include "bindings/self.hpp"
#include "tilewright/recording.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

/// A Recording with what Python asks of it besides: whose it is.
struct BackendRecording {
  py::object backend;
  Undeferred undeferred;  // what is recorded does not wait
  Recording recording;    // goes first
};

py::object enter(const py::object& self) {
  if (!instance_of<BackendRecording>(self)->recording.is_recording()) {
    throw InvalidArgument("record: this recording is not under way; record() begins another one");
  }
  return self;
}

void drop(BackendRecording& self) {
  without_gil([&] { self.recording.drop(); });
  self.undeferred.end();
}

/// With what was called for in it and still waits.
void end(BackendRecording& self) {
  try {
    if (self.recording.is_recording()) compute_all(*instance_of<Backend>(self.backend));
  } catch (...) {
    drop(self);
    throw;
  }
  try {
    without_gil([&] { self.recording.end(); });
  } catch (...) {
    if (!self.recording.is_recording()) self.undeferred.end();
    throw;
  }
  self.undeferred.end();
}

void exit(Self<BackendRecording> self, py::handle kind, py::handle, py::handle) {
  kind.is_none() ? end(*self) : drop(*self);
}

}  // namespace

void bind_recording(py::module_& m, BackendClass& cls) {
  py::class_<BackendRecording> recording(m, "Recording",
                                         "Work that is queued as often as one likes.");
  recording.attr("__module__") = "tilewright";
  recording.def_property_readonly("backend",
                                  [](Self<BackendRecording> self) { return self->backend; });
  recording.def_property_readonly(
      "is_recording", [](Self<BackendRecording> self) { return self->recording.is_recording(); },
      "Whether it is under way.");
  recording.def(
      "end", [](Self<BackendRecording> self) { end(*self); },
      "Ends it, in the thread that began it; leaving its `with` block does so too.");
  recording.def(
      "replay",
      [](Self<BackendRecording> self) {
        // What waits reads what the buffers hold now.
        compute_all(*instance_of<Backend>(self->backend));
        without_gil([&] { self->recording.replay(); });
      },
      "Queues all that was recorded, on the same buffers with what they hold by then.");
  recording.def(
      "drop", [](Self<BackendRecording> self) { drop(*self); },
      "Lets go of all that it keeps, as the end of its last reference does.");
  recording.def("__enter__", [](const py::object& self) { return enter(self); });
  recording.def("__exit__", &exit, py::arg("kind"), py::arg("error"), py::arg("traceback"));

  cls.def(
      "record",
      [](const py::object& self) {
        const std::shared_ptr<Backend>& backend = *holder_of<Backend>(self);
        compute_all(*backend);
        Recording begun = without_gil([&] { return backend->record(); });
        return BackendRecording{self, Undeferred(*backend), std::move(begun)};
      },
      "From here to the recording's end the ops of this thread are kept instead of run.");
}

}  // namespace tilewright::bindings
