#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "core/call.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"
#include "tilewright/program.hpp"

namespace tilewright {

namespace {

UnaryRequest check_unary(const Call& call, UnaryOp op, Buffer input, Buffer output, Size n,
                         DType dtype) {
  call.known("op", op);
  call.not_negative("n", n);
  call.float_dtype(dtype);
  UnaryRequest r{op, call.buffer("input", input, n, dtype), call.buffer("output", output, n, dtype),
                 n, dtype};
  call.apart_or_same("output", r.output, "input", r.input);
  return r;
}

/// The shape as [outer, length, inner] around an axis.
struct AroundAxis {
  Size outer = 1, length = 0, inner = 1;
};

AroundAxis around(const Call& call, std::span<const Size> shape, Size axis) {
  call.shape("shape", shape);
  const std::size_t at = call.axis(axis, shape);
  AroundAxis a;
  const bool empty = std::count(shape.begin(), shape.end(), 0) > (shape[at] == 0 ? 1 : 0);
  a.length = shape[at];
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == at) continue;
    Size& side = i < at ? a.outer : a.inner;
    side = empty ? 0 : call.mul(side, shape[i]);
  }
  if (empty) a.outer = 0;
  return a;
}

bool has_zero(std::span<const Size> shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

/// The elements that strides reach from the first one on; none for an empty shape.
Size reach(const Call& call, std::string_view name, std::span<const Size> shape,
           std::span<const Size> strides) {
  if (strides.size() != shape.size()) {
    call.invalid(text(name, " has ", strides.size(), " entries, expected ", shape.size(),
                      ", one for each dimension of shape"));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] < 0) {
      call.invalid(text(name, "[", i, "] is ", strides[i], ", expected 0 or more"));
    }
  }
  if (has_zero(shape)) return 0;
  Size span = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    span = call.spanned(name, shape[i], strides[i], span);
  }
  return span;
}

bool contiguous(std::span<const Size> shape, std::span<const Size> strides) {
  Size expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

/// Leaves out dimensions of size 1 and joins neighbours that both inputs walk as one.
void merge_dimensions(BinaryRequest& r, std::span<const Size> shape,
                      std::span<const Size> a_strides, std::span<const Size> b_strides) {
  r.rank = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (r.rank > 0) {
      const std::size_t last = r.rank - 1;
      if (r.a_strides[last] == a_strides[i] * shape[i] &&
          r.b_strides[last] == b_strides[i] * shape[i]) {
        r.shape[last] *= shape[i];
        r.a_strides[last] = a_strides[i];
        r.b_strides[last] = b_strides[i];
        continue;
      }
    }
    r.shape[r.rank] = shape[i];
    r.a_strides[r.rank] = a_strides[i];
    r.b_strides[r.rank] = b_strides[i];
    ++r.rank;
  }
  if (r.rank == 0) {
    r.rank = 1;
    r.shape[0] = r.a_strides[0] = r.b_strides[0] = 1;
  }
}

/// Whether a cast is do_cast's; the others are programs.
bool has_kernel(DType from, DType to) {
  const auto small = [](DType dtype) { return dtype == DType::float32 || dtype == DType::float16; };
  return small(to) && (small(from) || from == DType::int32);
}

const std::shared_ptr<const ProgramData>& cast_program(DType from, DType to) {
  constexpr std::size_t dtypes = EnumNames<DType>::values.size();
  static const auto programs = [] {
    std::array<std::shared_ptr<const ProgramData>, dtypes * dtypes> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Program program;
      program.output(program.cast(program.input(static_cast<DType>(i / dtypes)),
                                  static_cast<DType>(i % dtypes)));
      all[i] = program.data();
    }
    return all;
  }();
  return programs[static_cast<std::size_t>(from) * dtypes + static_cast<std::size_t>(to)];
}

}  // namespace

void Backend::unary(UnaryOp op, Buffer input, Buffer output, Size n, DType dtype) {
  Call call(*state_, "unary");
  const UnaryRequest request = check_unary(call, op, input, output, n, dtype);
  call.checked();
  if (n != 0) do_unary(request);
}

void Backend::silu(Buffer input, Buffer output, Size n, DType dtype) {
  Call call(*state_, "silu");
  const UnaryRequest request = check_unary(call, UnaryOp::silu, input, output, n, dtype);
  call.checked();
  if (n != 0) do_unary(request);
}

void Backend::gelu(Buffer input, Buffer output, Size n, DType dtype) {
  Call call(*state_, "gelu");
  const UnaryRequest request = check_unary(call, UnaryOp::gelu, input, output, n, dtype);
  call.checked();
  if (n != 0) do_unary(request);
}

void Backend::binary(BinaryOp op, Buffer a, Buffer b, Buffer output, Size n, DType dtype) {
  Call call(*state_, "binary");
  call.known("op", op);
  call.not_negative("n", n);
  call.float_dtype(dtype);
  BinaryRequest r;
  r.op = op;
  r.a = call.buffer("a", a, n, dtype);
  r.b = call.buffer("b", b, n, dtype);
  r.output = call.buffer("output", output, n, dtype);
  call.apart_or_same("output", r.output, "a", r.a);
  call.apart_or_same("output", r.output, "b", r.b);
  r.n = n;
  r.rank = 1;
  r.shape[0] = n;
  r.a_strides[0] = r.b_strides[0] = 1;
  r.dtype = dtype;
  call.checked();
  if (n != 0) do_binary(r);
}

std::shared_ptr<Allocation> Backend::on_device(std::string_view op, const Scalar& scalar) {
  const std::span<const std::byte> bytes = scalar.bytes();
  MemoryBudget& budget = *state_->budget;
  if (!budget.take(bytes.size())) {
    drop_scalars();
    if (!budget.take(bytes.size())) budget.refuse(op, bytes.size());
  }
  try {
    std::shared_ptr<Allocation> allocation = do_alloc(bytes.size());
    do_copy_htod(*allocation, bytes, 0);
    std::lock_guard lock(state_->mutex);
    budget.give_back(state_->scalars.insert(scalar, allocation));
    return allocation;
  } catch (...) {
    budget.give_back(bytes.size());
    throw;
  }
}

void Backend::drop_scalars() {
  std::lock_guard lock(state_->mutex);
  state_->budget->give_back(state_->scalars.clear());
}

void Backend::binary_scalar(BinaryOp op, Buffer a, double scalar, Buffer output, Size n,
                            bool scalar_first, DType dtype) {
  Call call(*state_, "binary_scalar");
  call.known("op", op);
  call.not_negative("n", n);
  call.float_dtype(dtype);
  const BufferRange array = call.buffer("a", a, n, dtype);
  BinaryRequest r;
  r.op = op;
  r.output = call.buffer("output", output, n, dtype);
  call.apart_or_same("output", r.output, "a", array);
  const Scalar element(scalar, dtype);
  AllocationRef number = state_->scalars.find(element);
  call.checked();
  if (n == 0) return;
  if (!number) number = on_device(call.op(), element);
  (scalar_first ? r.a : r.b) = std::move(number);
  (scalar_first ? r.b : r.a) = array;
  r.n = n;
  r.rank = 1;
  r.shape[0] = n;
  r.a_strides[0] = scalar_first ? 0 : 1;
  r.b_strides[0] = scalar_first ? 1 : 0;
  r.dtype = dtype;
  do_binary(r);
}

void Backend::binary_broadcast(BinaryOp op, Buffer a, std::span<const Size> a_strides, Buffer b,
                               std::span<const Size> b_strides, Buffer output,
                               std::span<const Size> shape, DType dtype) {
  Call call(*state_, "binary_broadcast");
  call.known("op", op);
  call.shape("shape", shape);
  call.float_dtype(dtype);
  const Size a_reach = reach(call, "a_strides", shape, a_strides);
  const Size b_reach = reach(call, "b_strides", shape, b_strides);
  const Size n = call.product(shape);
  BinaryRequest r;
  r.op = op;
  r.a = call.buffer("a", a, a_reach, dtype);
  r.b = call.buffer("b", b, b_reach, dtype);
  r.output = call.buffer("output", output, n, dtype);
  r.n = n;
  r.dtype = dtype;
  if (n == 0) return;
  const auto check_place = [&](std::string_view name, const BufferRange& input,
                               std::string_view strides_name, std::span<const Size> strides) {
    if (r.output.overlaps(input) && !contiguous(shape, strides)) {
      call.overlap(
          "output", r.output, name, input,
          text(strides_name, " are not those of the output, so pass ranges that lie apart"));
    }
    call.apart_or_same("output", r.output, name, input);
  };
  check_place("a", r.a, "a_strides", a_strides);
  check_place("b", r.b, "b_strides", b_strides);
  call.checked();
  merge_dimensions(r, shape, a_strides, b_strides);
  do_binary(r);
}

void Backend::softmax(Buffer input, Buffer output, std::span<const Size> shape, Size axis,
                      DType dtype, bool log) {
  Call call(*state_, "softmax");
  const AroundAxis a = around(call, shape, axis);
  call.float_dtype(dtype);
  SoftmaxRequest r;
  const Size n = call.product({a.outer, a.length, a.inner});
  r.input = call.buffer("input", input, n, dtype);
  r.output = call.buffer("output", output, n, dtype);
  call.apart_or_same("output", r.output, "input", r.input);
  r.outer = a.outer;
  r.length = a.length;
  r.inner = a.inner;
  r.dtype = dtype;
  r.log = log;
  call.checked();
  if (n != 0) do_softmax(r);
}

void Backend::reduce(ReduceOp op, Buffer input, Buffer output, std::span<const Size> shape,
                     Size axis, DType dtype) {
  Call call(*state_, "reduce");
  call.known("op", op);
  const AroundAxis a = around(call, shape, axis);
  call.float_dtype(dtype);
  const Size results = call.product({a.outer, a.inner});
  if (a.length == 0 && (op == ReduceOp::max || op == ReduceOp::min)) {
    call.invalid(text("the ", to_string(op), " of an empty axis is not defined; axis ", axis,
                      " of shape has size 0"));
  }
  ReduceRequest r;
  r.op = op;
  r.input = call.buffer("input", input, call.product({a.outer, a.length, a.inner}), dtype);
  r.output = call.buffer("output", output, results, dtype);
  call.apart("output", r.output, "input", r.input);
  r.outer = a.outer;
  r.length = a.length;
  r.inner = a.inner;
  r.dtype = dtype;
  call.checked();
  if (results == 0) return;
  stand_in(r.input);
  do_reduce(r);
}

void Backend::cast(Buffer input, DType from, Buffer output, DType to, Size n) {
  Call call(*state_, "cast");
  call.not_negative("n", n);
  call.known("from", from);
  call.known("to", to);
  CastRequest r{call.buffer("input", input, n, from), from, call.buffer("output", output, n, to),
                to, n};
  call.apart("output", r.output, "input", r.input);
  call.checked();
  if (n == 0) return;
  if (has_kernel(from, to)) return do_cast(r);
  if (from == to) {
    return do_copy_dtod(*r.output.allocation, *r.input.allocation, r.output.bytes, r.output.offset,
                        r.input.offset);
  }
  MapRequest map;
  map.program = cast_program(from, to);
  map.n = n;
  map.rank = 1;
  const auto first = [](const BufferRange& range, DType dtype) {
    return static_cast<Size>(range.offset / size_of(dtype));
  };
  map.operands = {{r.input.allocation, first(r.input, from)},
                  {r.output.allocation, first(r.output, to)}};
  map.sizes = {n, 1, 1};
  map.same_as = {MapRequest::no_output};
  do_map(map);
}

}  // namespace tilewright
