#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/backend.hpp"

// Python arguments as the trait's types. Each conversion is told which argument it is for, so that
// a wrong one is refused by name.
namespace tilewright::bindings {

/// A str; bytes that are no UTF-8, as some drivers give, become replacement characters.
pybind11::str to_str(std::string_view text);

/// The object as a person would write it, cut short; only its type and length where that is long,
/// and only its type where it cannot say.
std::string shown(pybind11::handle object);

/// Where an argument stands: the call, its name, and the backend that buffers must be of.
struct Argument {
  const char* call;
  const char* name;
  const Backend* backend = nullptr;

  /// Throws InvalidArgument: "call: name is 'abc' (str), expected ...".
  [[noreturn]] void refuse(pybind11::handle given, std::string_view expected) const;
};

Size to_size(pybind11::handle given, const Argument& argument);
double to_double(pybind11::handle given, const Argument& argument);
bool to_bool(pybind11::handle given, const Argument& argument);
std::string to_string(pybind11::handle given, const Argument& argument);
/// Any integer of 64 bits that may be a handle; the core knows which are.
std::uint64_t to_handle(pybind11::handle given, const Argument& argument,
                        std::string_view expected);
Buffer to_buffer(pybind11::handle given, const Argument& argument);
Kernel to_kernel(pybind11::handle given, const Argument& argument);
/// Any sequence of integers; `count` is how many there must be, or -1 for up to max_rank.
std::vector<Size> to_sizes(pybind11::handle given, const Argument& argument, Py_ssize_t count = -1);
/// The position of a name among `names`, given as str or as a member of `enum_class`.
std::size_t to_enum(pybind11::handle given, const Argument& argument, std::string_view kind,
                    std::span<const std::string_view> names, pybind11::handle enum_class);

/// The Python class of an enum, borrowed for the life of the process.
template <class Enum>
inline pybind11::handle enum_class;

/// What a parameter of type T is called in a signature, what holds it, and how it is converted.
template <class T>
struct Convert {
  static constexpr auto name = pybind11::detail::const_name("str");
  static T from(pybind11::handle given, const Argument& argument) {
    return static_cast<T>(
        to_enum(given, argument, EnumNames<T>::kind, EnumNames<T>::values, enum_class<T>));
  }
};

template <>
struct Convert<Size> {
  static constexpr auto name = pybind11::detail::const_name("int");
  static Size from(pybind11::handle given, const Argument& argument) {
    return to_size(given, argument);
  }
};

template <>
struct Convert<double> {
  static constexpr auto name = pybind11::detail::const_name("float");
  static double from(pybind11::handle given, const Argument& argument) {
    return to_double(given, argument);
  }
};

template <>
struct Convert<bool> {
  static constexpr auto name = pybind11::detail::const_name("bool");
  static bool from(pybind11::handle given, const Argument& argument) {
    return to_bool(given, argument);
  }
};

template <>
struct Convert<std::string> {
  static constexpr auto name = pybind11::detail::const_name("str");
  static std::string from(pybind11::handle given, const Argument& argument) {
    return to_string(given, argument);
  }
};

template <>
struct Convert<Buffer> {
  static constexpr auto name = pybind11::detail::const_name("int | ArrayBase");
  static Buffer from(pybind11::handle given, const Argument& argument) {
    return to_buffer(given, argument);
  }
};

template <>
struct Convert<Kernel> {
  static constexpr auto name = pybind11::detail::const_name("int | CompiledKernel");
  static Kernel from(pybind11::handle given, const Argument& argument) {
    return to_kernel(given, argument);
  }
};

template <>
struct Convert<std::span<const Size>> {
  static constexpr auto name = pybind11::detail::const_name("Sequence[int]");
  static std::vector<Size> from(pybind11::handle given, const Argument& argument) {
    return to_sizes(given, argument);
  }
};

template <std::size_t N>
struct Convert<std::array<Size, N>> {
  static constexpr auto name = pybind11::detail::const_name("Sequence[int]");
  static std::array<Size, N> from(pybind11::handle given, const Argument& argument) {
    const std::vector<Size> sizes = to_sizes(given, argument, N);
    std::array<Size, N> all;
    std::copy(sizes.begin(), sizes.end(), all.begin());
    return all;
  }
};

template <class T>
struct Convert<std::optional<T>> {
  static constexpr auto name = Convert<T>::name + pybind11::detail::const_name(" | None");
  static std::optional<T> from(pybind11::handle given, const Argument& argument) {
    if (given.is_none()) return std::nullopt;
    return Convert<T>::from(given, argument);
  }
};

/// An argument before its conversion: pybind11 takes any object for it, and shows T's name in the
/// signature.
template <class T>
struct Given {
  pybind11::handle object;
};

}  // namespace tilewright::bindings

template <class T>
struct pybind11::detail::type_caster<tilewright::bindings::Given<T>> {
  PYBIND11_TYPE_CASTER(tilewright::bindings::Given<T>, tilewright::bindings::Convert<T>::name);
  bool load(handle source, bool) {
    value.object = source;
    return true;
  }
};

namespace tilewright::bindings {

/// Handles are integers in Python.
template <class Handle>
struct HandleCaster {
  static constexpr auto name = pybind11::detail::const_name("int");
  static pybind11::handle cast(Handle value, pybind11::return_value_policy, pybind11::handle) {
    return PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(value));
  }
};

}  // namespace tilewright::bindings

template <>
struct pybind11::detail::type_caster<tilewright::Buffer>
    : tilewright::bindings::HandleCaster<tilewright::Buffer> {};
template <>
struct pybind11::detail::type_caster<tilewright::Kernel>
    : tilewright::bindings::HandleCaster<tilewright::Kernel> {};
