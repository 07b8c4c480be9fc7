#include "bindings/matmul.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

#include "bindings/array_map.hpp"
#include "bindings/noted_call.hpp"
#include "bindings/operands.hpp"
#include "bindings/python_call.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

constexpr const char* call = "matmul";

[[noreturn]] void invalid(const std::string& what) {
  throw InvalidArgument(text(call, ": ", what));
}

Size product(std::span<const Size> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), Size{1}, std::multiplies<>());
}

/// How a product walks matrices that do not lie row by row: the rows of each, or its columns, one
/// after the other, and all of a batch by one stride. None where they lie otherwise.
struct Walk {
  bool by_columns;
  Size ld, stride;
};

std::optional<Walk> walk_of(const ArrayObject& array) {
  const Sizes shape(array.shape);
  if (array.is_contiguous() || array.size == 0 || shape.rank < 2) return std::nullopt;
  const Size* const steps = array.steps.get();
  const std::size_t batches = shape.rank - 2;
  Walk walk{false, 0, 0};
  // Of a batch, from the last dimension on, each steps over all of the one within it.
  bool first = true;
  Size expected = 0;
  for (std::size_t i = batches; i-- > 0;) {
    if (shape[i] == 1) continue;
    if (first) {
      walk.stride = steps[i];
      first = false;
    } else if (steps[i] != expected) {
      return std::nullopt;
    }
    expected = steps[i] * shape[i];
  }
  if (walk.stride < 0) return std::nullopt;
  const Size rows = shape[batches], cols = shape[batches + 1];
  const Size down = rows == 1 ? cols : steps[batches], along = cols == 1 ? 1 : steps[batches + 1];
  if (along == 1 && down >= cols) {
    walk.ld = down;
  } else if ((rows == 1 || steps[batches] == 1) && steps[batches + 1] >= rows) {
    walk.by_columns = true;
    walk.ld = steps[batches + 1];
  } else {
    return std::nullopt;
  }
  return walk;
}

/// One operand as matrices: NumPy counts a vector as a row on the left and a column on the right.
struct Matrices {
  py::object kept;  // a copy, where the matrices lie as no product takes them
  const ArrayObject& array;
  std::optional<Walk> walk;
  Sizes shape;
  bool transposed;
  std::size_t batch_rank;
  Size rows, cols;  // as meant, after the transpose
  Size ld;
  Buffer buffer;
  Size stride = 0;  // from one matrix of the product's batch to the next

  Matrices(const char* name, const ArrayObject& given, bool transposed, bool left, Layout layout)
      : array(layout == Layout::any && walk_of(given) ? given : *contiguous(&given, kept)),
        walk(walk_of(array)),
        shape(array.shape),
        transposed(transposed),
        buffer(array.buffer()) {
    if (shape.rank == 0) {
      invalid(text(name, " has no dimension, expected a vector or matrices"));
    }
    if (transposed && is_vector()) {
      invalid(text("transpose_", name, " is True, but ", name, " is a vector"));
    }
    const Size last = shape[shape.rank - 1];
    const Size before = is_vector() ? 1 : shape[shape.rank - 2];
    batch_rank = is_vector() ? 0 : shape.rank - 2;
    const bool column = is_vector() && !left;
    const Size stored_cols = column ? 1 : last;
    rows = column || transposed ? last : before;
    cols = column ? 1 : transposed ? before : last;
    ld = walk ? walk->ld : std::max<Size>(1, stored_cols);
  }
  Matrices(const Matrices&) = delete;
  Matrices& operator=(const Matrices&) = delete;

  bool is_vector() const { return shape.rank == 1; }
  std::span<const Size> batch() const { return shape.span().first(batch_rank); }
  Size count() const { return product(batch()); }
  Transpose trans() const {
    const bool by_columns = walk && walk->by_columns;
    return transposed != by_columns ? Transpose::transpose : Transpose::none;
  }
  std::string described() const {
    return text(std::string(py::str(py::handle(array.shape))), transposed ? " transposed" : "");
  }
};

/// C = alpha * A * B + beta * C, once for each matrix of a batch.
struct Product {
  Matrices a, b;
  Size m, n, k;
  Sizes batch, shape;  // the result's: without the axis that a vector lacks
  Size count;
  double alpha, beta;
  std::array<const ArrayObject*, 2> inputs;  // as they were given

  Product(const ArrayObject& left, const ArrayObject& right, bool transpose_a, bool transpose_b,
          double alpha, double beta, Layout layout)
      : a("a", left, transpose_a, true, layout),
        b("b", right, transpose_b, false, layout),
        m(a.rows),
        n(b.cols),
        k(a.cols),
        alpha(alpha),
        beta(beta),
        inputs{&left, &right} {
    if (k != b.rows) {
      invalid(text("a of shape ", a.described(), " has rows of ", k, ", but b of shape ",
                   b.described(), " has columns of ", b.rows));
    }
    Sizes batch_a = a.shape, batch_b = b.shape;
    batch_a.rank = a.batch_rank;
    batch_b.rank = b.batch_rank;
    batch = broadcast("matmul: batches", batch_a, batch_b);
    count = product(batch.span());
    shape = batch;
    if (!a.is_vector()) shape.values[shape.rank++] = m;
    if (!b.is_vector()) shape.values[shape.rank++] = n;
  }

  /// One B for all matrices of A, which lie one below the other: they are one matrix.
  bool is_one_matrix() const {
    return count == 1 || (b.count() == 1 && !a.transposed && !a.walk &&
                          std::ranges::equal(a.batch(), batch.span()));
  }
};

/// What the core works on where each matrix of a product is a piece of a buffer.
struct Target {
  Backend& backend;
  Buffer c;
  DType dtype, output_dtype;
};

bool is_matrix_by_vector(const Product& p, const Target& target) {
  if (target.output_dtype != target.dtype || p.k == 0 || p.alpha != 1 || p.beta != 0) return false;
  if (p.a.walk || p.b.walk) return false;
  return (p.b.is_vector() && !p.a.transposed) ||
         (p.a.is_vector() && p.b.shape.rank == 2 && p.b.transposed);
}

void multiply(const Product& p, const Target& to) {
  const Size ldc = std::max<Size>(1, p.n);
  if (is_matrix_by_vector(p, to)) {
    if (p.b.is_vector()) {
      call_op(to.backend, &Backend::matmul_vec, p.a.buffer, p.m * p.count, p.k, p.b.buffer, to.c,
              to.dtype);
    } else {
      call_op(to.backend, &Backend::matmul_vec, p.b.buffer, p.n, p.k, p.a.buffer, to.c, to.dtype);
    }
  } else if (p.is_one_matrix()) {
    call_op(to.backend, &Backend::gemm, p.a.trans(), p.b.trans(), p.m * p.count, p.n, p.k, p.alpha,
            p.a.buffer, p.a.ld, p.b.buffer, p.b.ld, p.beta, to.c, ldc, to.dtype, to.output_dtype);
  } else {
    call_op(to.backend, &Backend::batched_gemm, p.a.trans(), p.b.trans(), p.m, p.n, p.k, p.alpha,
            p.a.buffer, p.a.ld, p.a.stride, p.b.buffer, p.b.ld, p.b.stride, p.beta, to.c, ldc,
            p.m * p.n, p.count, to.dtype, to.output_dtype);
  }
}

/// The same with inputs rounded first. The trait has no batch of these, so that each matrix gets
/// buffers of its own.
void multiply_rounded(const Product& p, Precision precision, Backend& backend, Buffer c) {
  const auto one = [&](Size m, Buffer a, Buffer b, Buffer out) {
    backend.gemm_mixed_precision(precision, p.a.trans(), p.b.trans(), m, p.n, p.k, p.alpha, a,
                                 p.a.ld, b, p.b.ld, p.beta, out, std::max<Size>(1, p.n));
  };
  if (p.is_one_matrix()) return one(p.m * p.count, p.a.buffer, p.b.buffer, c);
  if (p.count == 0) return;
  constexpr Size item = size_of(DType::float32);
  const Size bytes_a = p.m * p.k * item, bytes_b = p.k * p.n * item, bytes_c = p.m * p.n * item;
  const auto room = [&](Size bytes) {
    const std::shared_ptr<Backend> owner(std::shared_ptr<Backend>(), &backend);
    return OwnedBuffer(owner, std::max<Size>(1, bytes));
  };
  const OwnedBuffer a = room(bytes_a), b = room(bytes_b), out = room(bytes_c);
  for (Size i = 0; i < p.count; ++i) {
    backend.copy_dtod(a.buffer(), p.a.buffer, bytes_a, 0, i * p.a.stride * item);
    backend.copy_dtod(b.buffer(), p.b.buffer, bytes_b, 0, i * p.b.stride * item);
    backend.copy_dtod(out.buffer(), c, bytes_c, 0, i * bytes_c);
    one(p.m, a.buffer(), b.buffer(), out.buffer());
    backend.copy_dtod(c, out.buffer(), bytes_c, i * bytes_c, 0);
  }
}

/// Sees that one stride walks the operand over the whole batch; gives what must live till then.
py::object spread(Matrices& x, const Product& p) {
  const Size own = x.count(),
             one = product(x.shape.span().last(std::min<std::size_t>(2, x.shape.rank)));
  if (own == 1) return {};
  if (own == p.count) {
    x.stride = x.walk ? x.walk->stride : one;
    return {};
  }
  // The matrices once for each of the batch.
  Sizes shape = p.batch;
  for (const Size size : x.shape.span().last(2)) shape.values[shape.rank++] = size;
  const Sizes strides = strides_as(x.array, shape);
  const py::object broadcast_view =
      new_view(x.array, shape.tuple(), strides.span(), x.array.offset);
  py::object repeated = copied(*array_in(broadcast_view));
  x.buffer = array_in(repeated)->buffer();
  x.walk.reset();
  x.ld = std::max<Size>(1, x.shape[x.shape.rank - 1]);
  x.stride = one;
  return repeated;
}

struct Types {
  DType inputs, output;
  std::optional<Precision> precision;
};

py::object run(PyObject* self, Product& p, const Types& types, PyObject* out) {
  Backend& backend = backend_of(self);
  if (out == Py_None && p.beta != 0) {
    invalid(text("beta is ", p.beta, ", but there is no out to add to"));
  }
  Result result(self, call, out, p.shape.tuple(), types.output, p.inputs);
  py::object kept_a, kept_b;
  if (!p.is_one_matrix()) {
    kept_a = spread(p.a, p);
    kept_b = spread(p.b, p);
  }
  const Buffer c = result->buffer();
  without_gil([&] {
    if (types.precision) {
      multiply_rounded(p, *types.precision, backend, c);
    } else {
      multiply(p, {backend, c, types.inputs, types.output});
    }
  });
  return result.release();
}

}  // namespace

py::object matmul(PyObject* self, Arguments given) {
  const Operands<2> x(self, call, {"a", "b"}, {given[0], given[1]}, Layout::any);
  const DType dtype = x[0].stored_as;
  const bool transpose_a = to_bool(given[2], {call, "transpose_a"});
  const bool transpose_b = to_bool(given[3], {call, "transpose_b"});
  const double alpha = to_double(given[4], {call, "alpha"});
  const double beta = to_double(given[5], {call, "beta"});
  const auto precision = Convert<std::optional<Precision>>::from(given[6], {call, "precision"});
  // Rounding takes each matrix of a batch apart.
  const Layout layout = precision ? Layout::contiguous : Layout::any;
  Product p(x[0], x[1], transpose_a, transpose_b, alpha, beta, layout);
  const DType out_dtype = given[7] == Py_None ? dtype : to_stored_as(given[7], call);
  if (out_dtype != dtype && out_dtype != DType::float32) {
    invalid(text("out_dtype is ", to_string(out_dtype), ", expected ", to_string(dtype),
                 ", as a and b are"));
  }
  if (precision && dtype != DType::float32) {
    invalid(text("precision is ", to_string(*precision), ", but a and b are ", to_string(dtype)));
  }
  return run(self, p, {dtype, out_dtype, precision}, given[8]);
}

py::object matmul(const ArrayObject& a, const ArrayObject& b) {
  Product p(a, b, false, false, 1, 0, Layout::any);
  return run(a.backend, p, {a.stored_as, a.stored_as, std::nullopt}, Py_None);
}

}  // namespace tilewright::bindings
