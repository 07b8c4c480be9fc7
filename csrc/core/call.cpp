#include "core/call.hpp"

#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright {

TILEWRIGHT_MADE_WITH_THREAD constinit thread_local std::uint64_t Call::made_ = 0;

std::uint64_t calls_made() noexcept { return Call::made_; }

Call::Call(BackendState& state, std::string_view op, RunAtOnce)
    : state_(state), op_(op), lock_(state.mutex) {
  if (!state.enter(lock_)) [[unlikely]] {
    throw NotInitialized(
        text(op, ": the backend is not initialised; call init(), or use init_backend()"));
  }
}

Call::Call(BackendState& state, std::string_view op) : Call(state, op, RunAtOnce()) {
  ++made_;
  if (state.recordings.under_way() == nullptr) [[likely]]
    return;
  recorded_ = state.recordings.here();
  if (recorded_ != nullptr) ++recorded_->calls;
}

Call::Call(BackendState& state, std::string_view op, NotRecorded not_recorded)
    : Call(state, op, RunAtOnce()) {
  ++made_;
  if (state.recordings.here() == nullptr) [[likely]]
    return;
  invalid(
      text("this thread records, and a recording cannot keep this call; ", not_recorded.instead));
}

Call::~Call() {
  if (recorded_ != nullptr) [[unlikely]] {
    if (!lock_.owns_lock()) lock_.lock();
    --recorded_->calls;
    state_.recorded_call_over.notify_all();
  }
  if (lock_.owns_lock()) lock_.unlock();
  state_.leave();
}

void Call::invalid(const std::string& what) const { throw InvalidArgument(text(op_, ": ", what)); }

void Call::unknown(std::string_view name, std::string_view kind) const {
  invalid(text(name, " is not a ", kind));
}

void Call::below(std::string_view name, Size value, Size low) const {
  invalid(text(name, " is ", value, ", expected ", low, " or more"));
}

void Call::no_float(std::string_view name, DType dtype) const {
  invalid(text(name, " is ", to_string(dtype), ", expected float32 or float16"));
}

void Call::positive_finite(std::string_view name, double value) const {
  if (!(std::isfinite(value) && value > 0)) {
    invalid(text(name, " is ", value, ", expected a finite number above 0"));
  }
}

void Call::finite(std::string_view name, double value) const {
  if (!(std::abs(value) <= 3.0e38)) {
    invalid(text(name, " is ", value, ", expected a finite number"));
  }
}

Size Call::mul_large(Size a, Size b) const {
  if (a != 0 && b > std::numeric_limits<Size>::max() / a) {
    invalid(text("the sizes ", a, " and ", b, " multiply to more than 64 bits can count"));
  }
  return a * b;
}

Size Call::add(Size a, Size b) const {
  if (b > std::numeric_limits<Size>::max() - a) {
    invalid(text("the sizes ", a, " and ", b, " add up to more than 64 bits can count"));
  }
  return a + b;
}

Size Call::product(std::span<const Size> sizes) const {
  Size all = 1;
  // A zero size makes the whole empty, however large the others are.
  for (Size size : sizes) {
    if (size == 0) return 0;
  }
  for (Size size : sizes) all = mul(all, size);
  return all;
}

Size Call::spanned_large(std::string_view name, Size count, Size stride, Size piece) const {
  const Size room = std::numeric_limits<Size>::max() - piece;
  if (stride != 0 && count - 1 > room / stride) {
    invalid(text(name, " has ", count, " pieces that start every ", stride,
                 " elements, which is more than 64 bits can count"));
  }
  return (count - 1) * stride + piece;
}

void Call::shape(std::string_view name, std::span<const Size> shape) const {
  if (shape.size() > max_rank) {
    invalid(text(name, " has ", shape.size(), " dimensions, at most ", max_rank, " are supported"));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) invalid(text(name, "[", i, "] is ", shape[i], ", expected 0 or more"));
  }
}

std::size_t Call::axis(Size axis, std::span<const Size> shape) const {
  const auto rank = static_cast<Size>(shape.size());
  if (rank == 0) invalid("shape has no dimension, expected at least one");
  if (axis < -rank || axis >= rank) {
    invalid(text("axis is ", axis, ", expected ", -rank, " to ", rank - 1, " for a shape of ", rank,
                 " dimensions"));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

void Call::not_live(std::string_view name, Buffer handle) const {
  const auto number = static_cast<std::uint64_t>(handle);
  if (handle == Buffer::null) invalid(text(name, " is the null handle, expected a live buffer"));
  if (BufferTable::was_issued(handle)) {
    invalid(text(name, " is buffer ", number,
                 ", which was freed or belongs to another backend; pass one that is live here"));
  }
  invalid(text(name, " is ", number, ", which no alloc() returned"));
}

void Call::check_held(std::string_view name, const BufferRange& range, Size elements,
                      DType dtype) const {
  const auto size = static_cast<Size>(size_of(dtype));
  if (elements > std::numeric_limits<Size>::max() / size) {
    invalid(text(name, " holds ", range.bytes, " bytes, expected ", elements, " elements of ",
                 to_string(dtype), ", more bytes than 64 bits can count"));
  }
  const auto bytes = static_cast<std::uint64_t>(elements * size);
  if (bytes > range.bytes) {
    invalid(text(name, " holds ", range.bytes, " bytes, expected at least ", bytes, " (", elements,
                 " elements of ", to_string(dtype), ")"));
  }
  if (range.offset % size_of(dtype) == 0) return;
  invalid(text(name, " is a view from byte ", range.offset,
               " of its buffer on, expected a multiple of ", size, ", the size of ",
               to_string(dtype),
               "; make the view from such an offset, or copy its bytes to a buffer of their own"));
}

void Call::overlap(std::string_view output_name, const BufferRange& output, std::string_view name,
                   const BufferRange& input, std::string_view remedy) const {
  const auto last = [](const BufferRange& range) { return range.offset + range.bytes - 1; };
  invalid(text(output_name, " overlaps ", name, ": they are bytes ", output.offset, " to ",
               last(output), " and ", input.offset, " to ", last(input), " of one buffer; ",
               remedy));
}

}  // namespace tilewright
