#pragma once

#include <pybind11/pybind11.h>

#include <memory>

namespace tilewright::bindings {

/// Where pybind11 keeps the T of a Python object; empty where there is none, or where it was never
/// constructed. (pybind11 itself would hand out raw memory for an object made by __new__ alone.)
template <class T>
pybind11::detail::value_and_holder held_in(pybind11::handle object) noexcept {
  static const pybind11::detail::type_info* const type = pybind11::detail::get_type_info(typeid(T));
  if (!PyObject_TypeCheck(object.ptr(), type->type)) return {};
  auto* instance = reinterpret_cast<pybind11::detail::instance*>(object.ptr());
  // An object of one C++ class, as all of ours, needs no search for the class.
  const pybind11::detail::value_and_holder held =
      instance->simple_layout ? pybind11::detail::value_and_holder(instance, type, 0, 0)
                              : instance->get_value_and_holder(type, false);
  if (held.inst == nullptr || !held.holder_constructed()) return {};
  return held;
}

template <class T>
T* instance_of(pybind11::handle object) noexcept {
  const auto held = held_in<T>(object);
  return held.inst != nullptr ? held.template value_ptr<T>() : nullptr;
}

/// The owner of the T in a Python object, for classes that are held by shared_ptr.
template <class T>
std::shared_ptr<T>* holder_of(pybind11::handle object) noexcept {
  const auto held = held_in<T>(object);
  return held.inst != nullptr ? &held.template holder<std::shared_ptr<T>>() : nullptr;
}

/// A `self` parameter that is a constructed T.
template <class T>
struct Self {
  T* object = nullptr;
  T* operator->() const { return object; }
  T& operator*() const { return *object; }
};

}  // namespace tilewright::bindings

template <class T>
struct pybind11::detail::type_caster<tilewright::bindings::Self<T>> {
  PYBIND11_TYPE_CASTER(tilewright::bindings::Self<T>, make_caster<T>::name);
  bool load(handle source, bool) {
    value.object = tilewright::bindings::instance_of<T>(source);
    return value.object != nullptr;
  }
};
