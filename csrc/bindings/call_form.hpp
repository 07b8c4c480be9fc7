#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bindings/array.hpp"

namespace tilewright::bindings {

/// What a call of a function of Arrays has to say besides elements: of Arrays backend, dtype,
/// shape, strides and offset, which of them lie in one memory and which wait; numbers, words,
/// dtypes and None as they are; and how these stand in tuples, lists and keywords. Two calls of one
/// form ask for the same, if only elements differ.
class CallForm {
 public:
  static constexpr std::size_t most_words = 128, most_arrays = 16, most_objects = 32;

  /// `function` is a number of its own.
  explicit CallForm(std::uint64_t function) noexcept;

  /// False where a form cannot tell it from others, as an object of another class.
  bool add(PyObject* const* given, Py_ssize_t positional, PyObject* names);

  std::uint64_t hash() const noexcept;
  std::span<const std::uint64_t> words() const noexcept { return {words_.data(), count_}; }
  std::span<const ArrayObject* const> arrays() const noexcept {
    return {arrays_.data(), array_count_};
  }
  /// Whether an Array is in a tuple or list.
  bool is_item(std::size_t array) const noexcept { return (items_ >> array & 1) != 0; }
  /// Objects whose addresses are words.
  std::span<PyObject* const> objects() const noexcept { return {objects_.data(), object_count_}; }
  /// That of all Arrays; null where there is none.
  PyObject* backend() const noexcept { return backend_; }

 private:
  bool add_one(PyObject* given, int depth);
  bool add_array(const ArrayObject& array, bool is_item);
  bool add_items(PyObject* const* items, Py_ssize_t count, int depth);
  bool add_text(PyObject* given);
  bool add_object(PyObject* object);
  bool word(std::uint64_t value) noexcept {
    if (count_ == most_words) return false;
    words_[count_++] = value;
    return true;
  }

  std::array<std::uint64_t, most_words> words_;
  std::array<const ArrayObject*, most_arrays> arrays_;
  std::array<PyObject*, most_objects> objects_;
  std::size_t count_ = 0, array_count_ = 0, object_count_ = 0;
  std::uint32_t items_ = 0;
  PyObject* backend_ = nullptr;
};

}  // namespace tilewright::bindings
