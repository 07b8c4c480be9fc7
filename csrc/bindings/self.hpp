#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// The T in a Python object; null where there is none, or where it was never constructed. (pybind11
/// itself would hand out raw memory for an object made by __new__ alone.)
template <class T>
T* instance_of(pybind11::handle object) noexcept {
  static const pybind11::detail::type_info* const type = pybind11::detail::get_type_info(typeid(T));
  if (!PyObject_TypeCheck(object.ptr(), type->type)) return nullptr;
  auto* instance = reinterpret_cast<pybind11::detail::instance*>(object.ptr());
  const auto held = instance->get_value_and_holder(type, false);
  if (held.inst == nullptr || !held.holder_constructed()) return nullptr;
  return held.template value_ptr<T>();
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
