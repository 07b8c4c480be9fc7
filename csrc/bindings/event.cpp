#include "bindings/event.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "bindings/deferred.hpp"
#include "bindings/host_buffer.hpp"
#include "core/text.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

/// An Event with what Python asks of it besides: whose it is.
struct BackendEvent {
  Event event;
  py::object backend;
};

std::chrono::nanoseconds to_nanoseconds(double seconds) {
  if (!(seconds >= 0)) {
    throw InvalidArgument(text("wait: timeout is ", seconds, " seconds, expected 0 or more"));
  }
  const std::chrono::duration<double, std::nano> wanted = std::chrono::duration<double>(seconds);
  constexpr auto most = std::chrono::nanoseconds::max();
  return wanted < most ? std::chrono::duration_cast<std::chrono::nanoseconds>(wanted) : most;
}

bool wait(Self<BackendEvent> self, Given<std::optional<double>> timeout) {
  const auto seconds = Convert<std::optional<double>>::from(timeout.object, {"wait", "timeout"});
  if (seconds) {
    const auto longest = to_nanoseconds(*seconds);
    return without_gil([&] { return self->event.wait_for(longest); });
  }
  without_gil([&] { self->event.wait(); });
  return true;
}

BackendEvent copy_dtoh_async(const py::object& self, py::handle dst, Given<Buffer> src,
                             Given<Size> offset) {
  constexpr const char* call = "copy_dtoh_async";
  const std::shared_ptr<Backend>& backend = *holder_of<Backend>(self);
  auto to = SharedHostBuffer::of(dst, {call, "dst"});
  const Buffer from = to_buffer(src.object, {call, "src", backend.get()});
  const Size at = to_size(offset.object, {call, "offset"});
  const std::span<std::byte> bytes = to->bytes();
  return {without_gil([&] { return backend->copy_dtoh_async(bytes, from, at, std::move(to)); }),
          self};
}

}  // namespace

void bind_events(py::module_& m, BackendClass& cls) {
  py::class_<BackendEvent> event(m, "Event", "A place in a backend's queue.");
  event.attr("__module__") = "tilewright";
  event.def_property_readonly("backend", [](Self<BackendEvent> self) { return self->backend; });
  event.def(
      "done",
      [](Self<BackendEvent> self) { return without_gil([&] { return self->event.done(); }); },
      "Whether what was queued before is done; never waits for the device.");
  event.def("wait", &wait, py::arg("timeout") = py::none(),
            "Returns True once what was queued before is done, or False after `timeout` seconds.");
  event.def(
      "__await__",
      [](const py::object& self) {
        return call_python(py::module_::import("tilewright.event").attr("awaited"),
                           py::make_tuple(self));
      },
      "For asyncio: other tasks go on meanwhile.");

  cls.def(
      "event",
      [](const py::object& self) {
        const std::shared_ptr<Backend>& backend = *holder_of<Backend>(self);
        compute_all(*backend);
        return BackendEvent{without_gil([&] { return backend->event(); }), self};
      },
      "Where the queue is now.");
  cls.def(
      "flush",
      [](Self<Backend> self) {
        compute_all(*self);
        without_gil([&] { self->flush(); });
      },
      "Hands queued work to the device without waiting.");
  cls.def("copy_dtoh_async", &copy_dtoh_async, py::arg("dst"), py::arg("src"),
          py::arg("offset") = 0,
          "Fills dst by the time the event is done, whatever is queued after this call.");
}

}  // namespace tilewright::bindings
