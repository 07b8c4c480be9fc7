#include "bindings/call_form.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "bindings/array_arguments.hpp"
#include "bindings/deferred.hpp"

namespace tilewright::bindings {

namespace {

enum class Kind : std::uint64_t {
  none,
  truth,
  integer,
  real,
  text,
  object,
  tuple,
  list,
  array,
  names
};

constexpr std::size_t most_characters = 64;

constexpr int most_depth = 4;

std::uint64_t tagged(Kind kind, std::uint64_t value = 0) {
  return static_cast<std::uint64_t>(kind) | value << 4;
}

std::uint64_t address(const void* object) { return std::bit_cast<std::uintptr_t>(object); }

const void* memory_of(const ArrayObject& array) {
  if (array.deferred != nullptr) return array.deferred.get();
  return array.filled.get();
}

}  // namespace

CallForm::CallForm(std::uint64_t function) noexcept {
  word(function);
  word(deferral_here());
}

bool CallForm::add(PyObject* const* given, Py_ssize_t positional, PyObject* names) {
  const Py_ssize_t named = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  if (!word(tagged(Kind::names, static_cast<std::uint64_t>(named)))) return false;
  for (Py_ssize_t i = 0; i < named; ++i) {
    if (!add_text(PyTuple_GET_ITEM(names, i))) return false;
  }
  return add_items(given, positional + named, 0);
}

bool CallForm::add_items(PyObject* const* items, Py_ssize_t count, int depth) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!add_one(items[i], depth)) return false;
  }
  return true;
}

/// By address where there is one str of its characters, else by these.
bool CallForm::add_text(PyObject* given) {
  if (PyUnicode_CHECK_INTERNED(given) != 0) return add_object(given);
  if (!PyUnicode_IS_COMPACT_ASCII(given)) return false;
  const std::string_view text(static_cast<const char*>(PyUnicode_DATA(given)),
                              static_cast<std::size_t>(PyUnicode_GET_LENGTH(given)));
  if (text.size() > most_characters || !word(tagged(Kind::text, text.size()))) return false;
  for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, std::min(sizeof(eight), text.size() - at));
    if (!word(eight)) return false;
  }
  return true;
}

/// A word of its own object, which lives as long as its form.
bool CallForm::add_object(PyObject* object) {
  if (object_count_ == most_objects) return false;
  objects_[object_count_++] = object;
  return word(tagged(Kind::object)) && word(address(object));
}

bool CallForm::add_one(PyObject* given, int depth) {
  if (given == Py_None) return word(tagged(Kind::none));
  if (PyBool_Check(given)) return word(tagged(Kind::truth, given == Py_True ? 1 : 0));
  if (PyLong_CheckExact(given)) {
    const std::optional<Size> value = integer_in(given);
    return value && word(tagged(Kind::integer)) && word(static_cast<std::uint64_t>(*value));
  }
  if (PyFloat_CheckExact(given)) {
    return word(tagged(Kind::real)) && word(std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(given)));
  }
  if (PyTuple_CheckExact(given) || PyList_CheckExact(given)) {
    const Kind kind = PyTuple_CheckExact(given) ? Kind::tuple : Kind::list;
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(given);
    return depth < most_depth && word(tagged(kind, static_cast<std::uint64_t>(size))) &&
           add_items(PySequence_Fast_ITEMS(given), size, depth + 1);
  }
  if (const ArrayObject* const array = any_array_in(given)) {
    return is_plain_array(given) && add_array(*array, depth > 0);
  }
  if (PyUnicode_CheckExact(given)) return add_text(given);
  return known_dtype(given) && add_object(given);
}

bool CallForm::add_array(const ArrayObject& array, bool is_item) {
  if (array_count_ == most_arrays) return false;
  if (is_item) items_ |= 1U << array_count_;
  if (backend_ == nullptr) backend_ = array.backend;
  if (array.backend != backend_) return false;
  std::uint64_t same = array_count_;
  for (std::size_t i = 0; i < array_count_ && same == array_count_; ++i) {
    if (memory_of(*arrays_[i]) == memory_of(array)) same = i;
  }
  arrays_[array_count_++] = &array;
  const auto rank = static_cast<std::size_t>(PyTuple_GET_SIZE(array.shape));
  if (count_ + 2 * rank + 2 > most_words) return false;
  const auto flag = [](bool is_set, unsigned bit) { return (is_set ? 1ULL : 0ULL) << bit; };
  word(tagged(Kind::array, static_cast<std::uint64_t>(array.stored_as) | rank << 8 | same << 16 |
                               flag(array.is_complex, 24) | flag(array.is_contiguous(), 25) |
                               flag(array.deferred != nullptr, 26)));
  word(static_cast<std::uint64_t>(array.offset));
  for (std::size_t i = 0; i < rank; ++i) {
    word(static_cast<std::uint64_t>(PyLong_AsLongLong(PyTuple_GET_ITEM(array.shape, i))));
  }
  for (std::size_t i = 0; i < rank && !array.is_contiguous(); ++i) {
    word(static_cast<std::uint64_t>(array.steps[i]));
  }
  return true;
}

std::uint64_t CallForm::hash() const noexcept {
  std::uint64_t found = 0x9E3779B97F4A7C15ULL;
  for (const std::uint64_t one : words()) {
    found = (found ^ one) * 0xD6E8FEB86659FD93ULL;
    found ^= found >> 32;
  }
  return found;
}

}  // namespace tilewright::bindings
