#include "bindings/choices.hpp"

#include <pybind11/stl.h>

#include <memory>
#include <string>

#include "bindings/call.hpp"
#include "bindings/self.hpp"
#include "core/choices.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

template <class Names>
py::tuple to_tuple(const Names& names) {
  py::list all;
  for (const auto& name : names) all.append(to_str(name));
  return py::tuple(all);
}

py::dict points(const Choices& choices) {
  py::dict all;
  for (const ChoicePoint* point : choices.points()) {
    all[to_str(point->name)] = to_tuple(point->candidates);
  }
  return all;
}

py::list take_made(Choices& choices) {
  py::list all;
  for (const MadeChoice& made : choices.take_made()) {
    py::dict one;
    one["point"] = to_str(made.point);
    one["sizes"] = to_str(made.sizes);
    one["flags"] = to_str(made.flags);
    one["rule"] = to_str(made.rule);
    one["taken"] = to_str(made.taken);
    one["candidates"] = to_tuple(made.candidates);
    all.append(one);
  }
  return all;
}

}  // namespace

void bind_choices(py::module_& m) {
  py::class_<Choices, std::shared_ptr<Choices>> cls(
      m, "_Choices", "The choice between kernels for the same op, as tools watch and force it.");
  cls.def_property_readonly("path", [](Self<Choices> self) { return to_str(self->file().path()); });
  cls.def_property_readonly("head", [](Self<Choices> self) { return to_str(self->file().head()); });
  cls.def_property_readonly("loaded", [](Self<Choices> self) { return self->loaded(); });
  cls.def_property_readonly("points", [](Self<Choices> self) { return points(*self); });
  cls.def(
      "force",
      [](Self<Choices> self, Given<std::string> point, Given<std::string> candidate) {
        self->force(to_string(point.object, {"force", "point"}),
                    to_string(candidate.object, {"force", "candidate"}));
      },
      py::arg("point"), py::arg("candidate"),
      "Takes this candidate wherever it is admitted; an empty name ends that.");
  cls.def(
      "watch",
      [](Self<Choices> self, Given<bool> on) { self->watch(to_bool(on.object, {"watch", "on"})); },
      py::arg("on"));
  cls.def(
      "take_made", [](Self<Choices> self) { return take_made(*self); },
      "The choices made while watched since the last call, each once.");
  m.def(
      "_choices_of",
      [](Self<Backend> backend) { return without_gil([&] { return choices_of(*backend); }); },
      py::arg("backend"), "The choices of an initialised backend, or None where it has none.");
}

}  // namespace tilewright::bindings
