#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bindings/convert.hpp"
#include "bindings/log.hpp"
#include "bindings/native_call.hpp"
#include "bindings/noted_call.hpp"
#include "bindings/python_call.hpp"
#include "bindings/self.hpp"
#include "tilewright/backend.hpp"

namespace tilewright::bindings {

using BackendClass = pybind11::class_<Backend, std::shared_ptr<Backend>>;

/// Lets go of the memory of Python's that reads of the core are done with.
void release_host_buffers();

/// Runs f without the GIL, then hands over what it logged. Every call of the core goes through
/// here: it may wait, for the device or for another thread.
template <class F>
auto without_gil(F&& f) {
  using Result = std::invoke_result_t<F>;
  constexpr bool returns_nothing = std::is_void_v<Result>;
  std::exception_ptr failure;
  std::optional<std::conditional_t<returns_nothing, bool, Result>> result;
  PyThreadState* thread = nullptr;
  {
    const NativeCall inside;
    thread = PyEval_SaveThread();
    try {
      if constexpr (returns_nothing) {
        f();
      } else {
        result.emplace(f());
      }
    } catch (...) {
      failure = std::current_exception();
    }
  }
  call_python([&] { PyEval_RestoreThread(thread); });
  release_host_buffers();
  deliver_log();
  if (failure) std::rethrow_exception(failure);
  if constexpr (!returns_nothing) return std::move(*result);
}

/// A call of the trait as Python sees it: converts each argument under its name and runs it. An op
/// of Arrays is noted where its thread notes calls.
template <bool is_op, class Method, class R, class... P>
struct BoundCall {
  Method method;
  const char* call;
  std::array<const char*, sizeof...(P)> names;

  R operator()(Self<Backend> self, Given<std::remove_cvref_t<P>>... given) const {
    return run(*self, std::index_sequence_for<P...>{}, given...);
  }

 private:
  template <std::size_t... I, class... G>
  R run(Backend& self, std::index_sequence<I...>, const G&... given) const {
    // Braces convert from left to right, so that the first wrong argument is the one named.
    const std::tuple<decltype(Convert<std::remove_cvref_t<P>>::from({}, {}))...> values{
        Convert<std::remove_cvref_t<P>>::from(given.object, {call, names[I], &self})...};
    return without_gil([&]() -> R {
      if constexpr (is_op) {
        call_op(self, method, std::get<I>(values)...);
      } else {
        return (self.*method)(std::get<I>(values)...);
      }
    });
  }
};

/// Binds a call of the trait under its own name, with one pybind11::arg for each parameter.
template <class R, class... P, class... Parameters>
void def_call(BackendClass& cls, const char* name, R (Backend::*method)(P...), const char* doc,
              const Parameters&... parameters) {
  static_assert(sizeof...(P) == sizeof...(Parameters));
  cls.def(name, BoundCall<false, decltype(method), R, P...>{method, name, {parameters.name...}},
          parameters..., doc);
}

template <class R, class... P, class... Parameters>
void def_call(BackendClass& cls, const char* name, R (Backend::*method)(P...) const,
              const char* doc, const Parameters&... parameters) {
  static_assert(sizeof...(P) == sizeof...(Parameters));
  cls.def(name, BoundCall<false, decltype(method), R, P...>{method, name, {parameters.name...}},
          parameters..., doc);
}

/// The same of an op.
template <class... P, class... Parameters>
void def_op(BackendClass& cls, const char* name, void (Backend::*method)(P...), const char* doc,
            const Parameters&... parameters) {
  static_assert(sizeof...(P) == sizeof...(Parameters));
  cls.def(name, BoundCall<true, decltype(method), void, P...>{method, name, {parameters.name...}},
          parameters..., doc);
}

}  // namespace tilewright::bindings
