#include "bindings/kept_function.hpp"

#include <structmember.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bindings/call_form.hpp"
#include "bindings/call_plan.hpp"
#include "bindings/deferred.hpp"
#include "bindings/method.hpp"
#include "bindings/python_call.hpp"
#include "bindings/self.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

struct KeptFunction {
  PyObject ob_base;
  vectorcallfunc call;
  PyObject* function;  ///< Python's
  PyObject* attributes;
  PyObject* weak_references;
  std::uint64_t number;  ///< its own, for the process
};

KeptFunction& kept_in(PyObject* self) { return *reinterpret_cast<KeptFunction*>(self); }

// Forms that came up ------------------------------------------------------------------------------

/// A form that came up once, and its plan from the second time on. No plan then says that it has
/// none.
struct KeptForm {
  std::vector<std::uint64_t> words;
  std::vector<py::object> objects;  ///< whose addresses are words
  std::weak_ptr<Backend> backend;
  bool was_noted = false;
  std::shared_ptr<const CallPlan> plan;

  bool is(const CallForm& form, const std::shared_ptr<Backend>& owner) const {
    return std::ranges::equal(words, form.words()) && !backend.owner_before(owner) &&
           !owner.owner_before(backend);
  }
};

/// Under the GIL, as all here; never destroyed, since it has objects of Python's.
std::unique_ptr<KeptForm>& place_of(const CallForm& form) {
  constexpr unsigned bits = 11;
  static auto& kept = *new std::array<std::unique_ptr<KeptForm>, std::size_t{1} << bits>();
  return kept[form.hash() >> (64 - bits)];
}

void keep(const CallForm& form, const std::shared_ptr<Backend>& owner) {
  auto made = std::make_unique<KeptForm>();
  made->words.assign(form.words().begin(), form.words().end());
  for (PyObject* const one : form.objects()) {
    made->objects.push_back(py::reinterpret_borrow<py::object>(one));
  }
  made->backend = owner;
  // What it was may end only once this is in its place.
  const std::unique_ptr<KeptForm> before = std::exchange(place_of(form), std::move(made));
}

// A call ------------------------------------------------------------------------------------------

struct CallArguments {
  PyObject* const* given;
  std::size_t count;  ///< with a flag of CPython's
  PyObject* names;
};

/// Keeps Arrays that are in a list, which may change while others run. Of others there are no more
/// references than the caller has, by which deferred work tells whether it is anybody else's.
class HeldItems {
 public:
  explicit HeldItems(const CallForm& form) : form_(form) {
    each([](PyObject* one) { Py_INCREF(one); });
  }
  ~HeldItems() {
    each([](PyObject* one) { Py_DECREF(one); });
  }
  HeldItems(const HeldItems&) = delete;
  HeldItems& operator=(const HeldItems&) = delete;

 private:
  void each(const auto& visit) const {
    for (std::size_t i = 0; i < form_.arrays().size(); ++i) {
      if (form_.is_item(i)) visit(object_of(*form_.arrays()[i]));
    }
  }

  const CallForm& form_;
};

PyObject* call_function(const KeptFunction& kept, const CallArguments& arguments) {
  return call_python([&] {
    return PyObject_Vectorcall(kept.function, arguments.given, arguments.count, arguments.names);
  });
}

/// The result of a plan; none where the trait refuses what it asks, which Python words, or a table
/// is gone.
py::object replayed(const CallPlan& plan, const CallForm& form) {
  try {
    return plan.run(form.backend(), form.arrays());
  } catch (const Error&) {
    return {};
  }
}

PyObject* note_call(const KeptFunction& kept, const CallArguments& arguments, const CallForm& form,
                    const std::shared_ptr<Backend>& owner) {
  std::shared_ptr<const CallPlan> plan;
  py::object result;
  {
    CallNotes notes(*owner, form.arrays());
    result = py::reinterpret_steal<py::object>(call_function(kept, arguments));
    if (!result) return nullptr;
    plan = CallPlan::of(notes, result);
  }
  // Others may have had its place meanwhile.
  if (KeptForm* const found = place_of(form).get(); found != nullptr && found->is(form, owner)) {
    found->was_noted = true;
    found->plan = std::move(plan);
  }
  return result.release().ptr();
}

PyObject* call(PyObject* self, PyObject* const* given, std::size_t count, PyObject* names) {
  const KeptFunction& kept = kept_in(self);
  const CallArguments arguments{given, count, names};
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    if (CallNotes::here() != nullptr || is_recording_here()) return call_function(kept, arguments);
    CallForm form(kept.number);
    if (!form.add(given, PyVectorcall_NARGS(count), names) || form.backend() == nullptr) {
      return call_function(kept, arguments);
    }
    const HeldItems items(form);
    const std::shared_ptr<Backend>* const held = holder_of<Backend>(form.backend());
    if (held == nullptr) return call_function(kept, arguments);
    const std::shared_ptr<Backend> owner = *held;
    const KeptForm* const found = place_of(form).get();
    if (found == nullptr || !found->is(form, owner)) {
      keep(form, owner);
      return call_function(kept, arguments);
    }
    if (!found->was_noted) return note_call(kept, arguments, form, owner);
    if (const std::shared_ptr<const CallPlan> plan = found->plan) {
      if (py::object result = replayed(*plan, form)) return result.release().ptr();
    }
    return call_function(kept, arguments);
  });
}

// CPython's slots ---------------------------------------------------------------------------------

// Borrowed for the life of the process.
PyTypeObject* kept_class = nullptr;

py::object make(const py::object& function) {
  static std::uint64_t made = 0;
  PyObject* const self = kept_class->tp_alloc(kept_class, 0);
  if (self == nullptr) throw py::error_already_set();
  KeptFunction& kept = kept_in(self);
  kept.call = call;
  kept.function = py::object(function).release().ptr();
  kept.number = made++;
  return py::reinterpret_steal<py::object>(self);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(kept_in(self).function);
  Py_VISIT(kept_in(self).attributes);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(kept_in(self).function);
  Py_CLEAR(kept_in(self).attributes);
  return 0;
}

void deallocate(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (kept_in(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

/// A method of what it is looked up in, as a function of Python's is.
PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

PyObject* represent(PyObject* self) { return PyObject_Repr(kept_in(self).function); }

/// Pickled by name, as functions are.
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KeptFunction, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(KeptFunction, attributes), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(KeptFunction, weak_references), READONLY, nullptr},
    {}};

PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("A function of Arrays.")},
                       {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
                       {Py_tp_repr, reinterpret_cast<void*>(represent)},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_methods, methods},
                       {0, nullptr}};

}  // namespace

void bind_kept_function(py::module_& m) {
  PyType_Spec spec = {"tilewright._core.KeptFunction", static_cast<int>(sizeof(KeptFunction)), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE |
                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  PyObject* const made = PyType_FromModuleAndSpec(m.ptr(), &spec, nullptr);
  if (made == nullptr) throw py::error_already_set();
  kept_class = reinterpret_cast<PyTypeObject*>(made);
  m.def("_kept_function", &make, py::arg("function"),
        "A function of Arrays whose calls go without Python once one of their form was noted.");
  m.def(
      "_note_kept",
      [](py::handle table) {
        CallNotes* const notes = CallNotes::here();
        const ArrayObject* const array = notes != nullptr ? any_array_in(table) : nullptr;
        if (array != nullptr) notes->keep(array->memory());
      },
      py::arg("table"), "Calls that are noted may use it: its elements stay as they are.");
}

}  // namespace tilewright::bindings
