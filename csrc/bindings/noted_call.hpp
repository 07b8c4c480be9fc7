#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "bindings/call_notes.hpp"
#include "core/call.hpp"
#include "tilewright/program.hpp"

// Calls of the trait as values: what their spans look at is theirs, and buffers are slots.
namespace tilewright::bindings {

/// Whether a copy of T is all that a later call needs: it neither looks at others' memory nor is a
/// buffer.
template <class T>
inline constexpr bool is_value = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
inline constexpr bool is_value<std::optional<T>> = is_value<T>;
template <>
inline constexpr bool is_value<Program> = true;
template <>
inline constexpr bool is_value<Number> = true;
template <class T, std::size_t n>
inline constexpr bool is_value<std::array<T, n>> = is_value<T>;

/// An argument of type T; with() gives it back.
template <class T>
struct Noted {
  static_assert(is_value<T>, "say how arguments of this type are noted");
  Noted(const T& given, CallNotes&) : value(given) {}
  const T& with(std::span<const Buffer>) const { return value; }
  T value;
};

/// Lists of what is not known here are not noted.
template <class T>
struct Noted<std::span<const T>> {
  Noted(std::span<const T>, CallNotes& notes) { notes.lose(); }
  std::span<const T> with(std::span<const Buffer>) const { return {}; }
};

template <>
struct Noted<Buffer> {
  Noted(Buffer given, CallNotes& notes) : slot(notes.slot_of(given)) {}
  Buffer with(std::span<const Buffer> buffers) const {
    return slot == CallNotes::no_slot ? Buffer::null : buffers[slot];
  }
  std::size_t slot;
};

template <>
struct Noted<MapOperand> {
  Noted(const MapOperand& given, CallNotes& notes)
      : buffer(given.buffer, notes),
        strides(given.strides.begin(), given.strides.end()),
        offset(given.offset) {}
  MapOperand with(std::span<const Buffer> buffers) const {
    return {buffer.with(buffers), strides, offset};
  }
  Noted<Buffer> buffer;
  std::vector<Size> strides;
  Size offset;
};

template <class T>
  requires std::is_same_v<T, Buffer> || std::is_same_v<T, MapOperand>
struct Noted<std::optional<T>> {
  Noted(const std::optional<T>& given, CallNotes& notes) {
    if (given) value.emplace(*given, notes);
  }
  std::optional<T> with(std::span<const Buffer> buffers) const {
    return value ? std::optional<T>(value->with(buffers)) : std::nullopt;
  }
  std::optional<Noted<T>> value;
};

/// A list while a call is made.
template <class T>
struct FewItems {
  static constexpr std::size_t most = 16;
  std::array<T, most> items;
  std::size_t count = 0;
  operator std::span<const T>() const { return std::span(items).first(count); }
};

template <>
struct Noted<std::span<const MapOperand>> {
  Noted(std::span<const MapOperand> given, CallNotes& notes) {
    if (given.size() > FewItems<MapOperand>::most) notes.lose();
    for (const MapOperand& one : given) all.emplace_back(one, notes);
  }
  FewItems<MapOperand> with(std::span<const Buffer> buffers) const {
    FewItems<MapOperand> made;
    for (const auto& one : all) made.items[made.count++] = one.with(buffers);
    return made;
  }
  std::vector<Noted<MapOperand>> all;
};

template <>
struct Noted<std::span<const IndexOperand>> {
  Noted(std::span<const IndexOperand> given, CallNotes& notes) : all(given.begin(), given.end()) {
    if (given.size() > FewItems<IndexOperand>::most) notes.lose();
    for (const IndexOperand& one : given) operands.emplace_back(one.indices, notes);
  }
  FewItems<IndexOperand> with(std::span<const Buffer> buffers) const {
    FewItems<IndexOperand> made;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      made.items[made.count] = all[i];
      made.items[made.count++].indices = operands[i].with(buffers);
    }
    return made;
  }
  std::vector<IndexOperand> all;
  std::vector<Noted<MapOperand>> operands;
};

template <class T>
  requires std::is_same_v<T, Size> || std::is_same_v<T, Number>
struct Noted<std::span<const T>> {
  Noted(std::span<const T> given, CallNotes&) : all(given.begin(), given.end()) {}
  std::span<const T> with(std::span<const Buffer>) const { return all; }
  std::vector<T> all;
};

/// What is copied from the host; no more than tables and numbers take.
template <>
struct Noted<std::span<const std::byte>> {
  static constexpr std::size_t most = 1 << 14;
  Noted(std::span<const std::byte> given, CallNotes& notes) {
    if (given.size() > most) {
      notes.lose();
    } else {
      all.assign(given.begin(), given.end());
    }
  }
  std::span<const std::byte> with(std::span<const Buffer>) const { return all; }
  std::vector<std::byte> all;
};

template <>
struct Noted<std::string_view> {
  Noted(std::string_view given, CallNotes&) : value(given) {}
  std::string_view with(std::span<const Buffer>) const { return value; }
  std::string value;
};

template <>
struct Noted<const Program*> {
  Noted(const Program* given, CallNotes&) {
    if (given != nullptr) value = *given;
  }
  const Program* with(std::span<const Buffer>) const { return value ? &*value : nullptr; }
  std::optional<Program> value;
};

template <>
struct Noted<RowProgram> {
  Noted(const RowProgram& given, CallNotes& notes)
      : program(given.program, notes), numbers(given.numbers, notes) {}
  RowProgram with(std::span<const Buffer> buffers) const {
    return {program.with(buffers), numbers.with(buffers)};
  }
  Noted<const Program*> program;
  Noted<std::span<const Number>> numbers;
};

template <>
struct Noted<std::span<const RowFold>> {
  Noted(std::span<const RowFold> given, CallNotes& notes) {
    if (given.size() > FewItems<RowFold>::most) notes.lose();
    for (const RowFold& one : given) {
      ops.push_back(one.op);
      programs.emplace_back(RowProgram{one.program, one.numbers}, notes);
    }
  }
  FewItems<RowFold> with(std::span<const Buffer> buffers) const {
    FewItems<RowFold> made;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const RowProgram one = programs[i].with(buffers);
      made.items[made.count++] = {ops[i], one.program, one.numbers};
    }
    return made;
  }
  std::vector<Reduction> ops;
  std::vector<Noted<RowProgram>> programs;
};

template <class... P>
class NotedOp : public NotedCall {
 public:
  using Method = void (Backend::*)(P...);
  // Braces note arguments from left to right.
  NotedOp(CallNotes& notes, Method method, const std::remove_cvref_t<P>&... given)
      : method_(method), arguments_{Noted<std::remove_cvref_t<P>>(given, notes)...} {}

  void run(Backend& backend, std::span<const Buffer> buffers) const override {
    std::apply([&](const auto&... one) { (backend.*method_)(one.with(buffers)...); }, arguments_);
  }

 private:
  Method method_;
  std::tuple<Noted<std::remove_cvref_t<P>>...> arguments_;
};

/// Makes a call of the trait, and notes it where its thread notes calls.
template <class... P>
void call_op(Backend& backend, void (Backend::*method)(P...), std::type_identity_t<P>... given) {
  CallNotes* const notes = CallNotes::here();
  const std::uint64_t before = notes != nullptr ? calls_made() : 0;
  (backend.*method)(given...);
  if (notes == nullptr) return;
  const std::uint64_t calls = calls_made() - before;
  notes->add(backend, std::make_unique<NotedOp<P...>>(*notes, method, given...), calls);
}

}  // namespace tilewright::bindings
