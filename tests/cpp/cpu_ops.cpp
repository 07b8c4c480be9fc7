// Every op of the CPU backend once, on sizes that fill no vector and no tile, in buffers without a
// byte to spare, against plain loops. What each op means in full is held by tests/conformance; this
// is what runs under the sanitizers.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "cpu_device.hpp"

namespace tilewright {
namespace {

constexpr auto none = Transpose::none;

Floats numbers(Size n, float low = -1, float high = 1) {
  static unsigned seed = 1;
  Floats values(static_cast<std::size_t>(n));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = low + (high - low) * static_cast<float>(seed >> 8) / static_cast<float>(1u << 24);
  }
  return values;
}

void check_close(const Floats& got, const Floats& expected, float tolerance = 1e-4f) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    REQUIRE(got[i] == doctest::Approx(expected[i]).epsilon(tolerance).scale(1));
  }
}

/// m x k times k x n, all as stored.
Floats product(const Floats& a, const Floats& b, Size m, Size n, Size k) {
  Floats c(static_cast<std::size_t>(m * n));
  for (Size i = 0; i < m; ++i) {
    for (Size j = 0; j < n; ++j) {
      double sum = 0;
      for (Size p = 0; p < k; ++p) sum += double{a[i * k + p]} * b[p * n + j];
      c[i * n + j] = static_cast<float>(sum);
    }
  }
  return c;
}

TEST_CASE("cpu: matrix products") {
  const Cpu cpu;
  constexpr Size m = 17, n = 13, k = 23;
  const Floats a = numbers(m * k), b = numbers(k * n), expected = product(a, b, m, n, k);
  const Buffer da = cpu.put(a), db = cpu.put(b), c = cpu.room(m * n);
  cpu->gemm(none, none, m, n, k, 1, da, k, db, n, 0, c, n);
  check_close(cpu.get(c), expected);
  cpu->gemm_mixed_precision(Precision::bfloat16, none, none, m, n, k, 1, da, k, db, n, 0, c, n);
  check_close(cpu.get(c), expected, 4e-2f);
  cpu->batched_gemm(none, none, 3, n, k, 1, da, k, 3 * k, db, n, 0, 0, c, n, 3 * n, 5);
  Floats batches = cpu.get(c);
  batches.resize(15 * n);
  check_close(batches, Floats(expected.begin(), expected.begin() + 15 * n));

  const Buffer a16 = cpu->alloc(2 * m * k), b16 = cpu->alloc(2 * k * n);
  cpu->cast(da, DType::float32, a16, DType::float16, m * k);
  cpu->cast(db, DType::float32, b16, DType::float16, k * n);
  cpu->gemm(none, none, m, n, k, 1, a16, k, b16, n, 0, c, n, DType::float16, DType::float32);
  check_close(cpu.get(c), expected, 5e-3f);
  const Buffer c16 = cpu->alloc(2 * m * n);
  cpu->gemm_f16(none, none, m, n, k, 1, a16, k, b16, n, 0, c16, n);
  cpu->cast(c16, DType::float16, c, DType::float32, m * n);
  check_close(cpu.get(c), expected, 5e-3f);

  const Floats x = numbers(k);
  const Buffer y = cpu.room(m);
  cpu->matmul_vec(da, m, k, cpu.put(x), y);
  check_close(cpu.get(y), product(a, x, m, 1, k));
}

/// The elements that a convolution reads, with the pads as zeros, and what it does with them.
template <class Visit>
void visit_conv(Size n, Size c, Size h, Size w, Size k, Size r, Size p, Size q, Size stride,
                Size pad, Visit visit) {
  for (Size in = 0; in < n; ++in)
    for (Size ik = 0; ik < k; ++ik)
      for (Size ip = 0; ip < p; ++ip)
        for (Size iq = 0; iq < q; ++iq)
          for (Size ic = 0; ic < c; ++ic)
            for (Size ir = 0; ir < r; ++ir)
              for (Size is = 0; is < r; ++is) {
                const Size y = ip * stride + ir - pad, x = iq * stride + is - pad;
                if (y < 0 || y >= h || x < 0 || x >= w) continue;
                visit(((in * c + ic) * h + y) * w + x, ((ik * c + ic) * r + ir) * r + is,
                      ((in * k + ik) * p + ip) * q + iq);
              }
}

TEST_CASE("cpu: convolution and its gradients") {
  const Cpu cpu;
  constexpr Size n = 2, c = 3, h = 9, w = 7, k = 5, r = 3, p = 5, q = 4;
  const Shape4 in_shape{n, c, h, w}, filter_shape{k, c, r, r}, out_shape{n, k, p, q};
  constexpr Pair stride{2, 2}, pad{1, 1};
  const Floats x = numbers(n * c * h * w), f = numbers(k * c * r * r), g = numbers(n * k * p * q);
  const Buffer dx = cpu.put(x), df = cpu.put(f), dg = cpu.put(g);
  Floats y(g.size()), gx(x.size()), gf(f.size());
  visit_conv(n, c, h, w, k, r, p, q, 2, 1, [&](Size i, Size j, Size o) {
    y[o] += x[i] * f[j];
    gx[i] += g[o] * f[j];
    gf[j] += g[o] * x[i];
  });
  const Buffer out = cpu.room(n * k * p * q), grad_x = cpu.room(n * c * h * w),
               grad_f = cpu.room(k * c * r * r);
  cpu->conv2d_forward(dx, in_shape, df, filter_shape, out, out_shape, stride, pad);
  check_close(cpu.get(out), y);
  cpu->conv2d_backward_data(dg, out_shape, df, filter_shape, grad_x, in_shape, stride, pad);
  check_close(cpu.get(grad_x), gx);
  cpu->conv2d_backward_filter(dx, in_shape, dg, out_shape, grad_f, filter_shape, stride, pad);
  check_close(cpu.get(grad_f), gf);
}

TEST_CASE("cpu: elementwise") {
  const Cpu cpu;
  constexpr Size n = 1027;
  const Floats a = numbers(n, 0.1f, 3), b = numbers(n, 0.1f, 3);
  const Buffer da = cpu.put(a), db = cpu.put(b), y = cpu.room(n);
  const auto each = [&](auto function) {
    Floats expected(n);
    for (std::size_t i = 0; i < n; ++i) expected[i] = static_cast<float>(function(a[i], b[i]));
    check_close(cpu.get(y), expected);
  };
  for (std::size_t i = 0; i < EnumNames<UnaryOp>::values.size(); ++i) {
    CAPTURE(EnumNames<UnaryOp>::values[i]);
    const auto op = static_cast<UnaryOp>(i);
    cpu->unary(op, da, y, n);
    each([&](double x, double) {
      switch (op) {
        case UnaryOp::relu:
        case UnaryOp::abs:
          return x;
        case UnaryOp::sigmoid:
          return 1 / (1 + std::exp(-x));
        case UnaryOp::tanh:
          return std::tanh(x);
        case UnaryOp::exp:
          return std::exp(x);
        case UnaryOp::log:
          return std::log(x);
        case UnaryOp::sqrt:
          return std::sqrt(x);
        case UnaryOp::neg:
          return -x;
        case UnaryOp::silu:
          return x / (1 + std::exp(-x));
        case UnaryOp::gelu:
          return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
        case UnaryOp::gelu_tanh:
          return x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) / 2;
        case UnaryOp::rsqrt:
          return 1 / std::sqrt(x);
        case UnaryOp::reciprocal:
          return 1 / x;
        case UnaryOp::square:
          return x * x;
      }
      return std::numeric_limits<double>::quiet_NaN();
    });
  }
  const auto binary = [&](BinaryOp op, auto function) {
    CAPTURE(to_string(op));
    cpu->binary(op, da, db, y, n);
    each(function);
  };
  binary(BinaryOp::add, [](double x, double z) { return x + z; });
  binary(BinaryOp::sub, [](double x, double z) { return x - z; });
  binary(BinaryOp::mul, [](double x, double z) { return x * z; });
  binary(BinaryOp::div, [](double x, double z) { return x / z; });
  binary(BinaryOp::max, [](double x, double z) { return std::max(x, z); });
  binary(BinaryOp::min, [](double x, double z) { return std::min(x, z); });
  binary(BinaryOp::pow, [](double x, double z) { return std::pow(x, z); });

  // 13 x 79 against a row and against a column.
  const Size shape[] = {13, 79}, whole[] = {79, 1}, row[] = {0, 1}, column[] = {1, 0};
  cpu->binary_broadcast(BinaryOp::add, da, whole, cpu.put(Floats(b.begin(), b.begin() + 79)), row,
                        y, shape);
  std::size_t i = 0;
  each([&](double x, double) { return x + b[i++ % 79]; });
  cpu->binary_broadcast(BinaryOp::mul, da, whole, cpu.put(Floats(b.begin(), b.begin() + 13)),
                        column, y, shape);
  i = 0;
  each([&](double x, double) { return x * b[i++ / 79]; });
}

TEST_CASE("cpu: casts") {
  const Cpu cpu;
  constexpr Size n = 1027;
  const Floats a = numbers(n, -100, 100);
  const Buffer wide = cpu.put(a), narrow = cpu->alloc(2 * n), back = cpu.room(n);
  cpu->cast(wide, DType::float32, narrow, DType::float16, n);
  cpu->cast(narrow, DType::float16, back, DType::float32, n);
  check_close(cpu.get(back), a, 1e-3f);
}

TEST_CASE("cpu: reductions, softmax and norms") {
  const Cpu cpu;
  constexpr Size rows = 7, cols = 131;
  const Size shape[] = {rows, cols};
  const Floats x = numbers(rows * cols), w = numbers(cols), b = numbers(cols);
  const Buffer dx = cpu.put(x), dw = cpu.put(w), db = cpu.put(b), y = cpu.room(rows * cols);
  const Buffer per_row = cpu.room(rows), per_col = cpu.room(cols);
  Floats sums(rows), tops(cols, -10), soft(x.size()), rms(x.size()), norm(x.size());
  for (Size i = 0; i < rows; ++i) {
    double sum = 0, squares = 0, exps = 0;
    for (Size j = 0; j < cols; ++j) {
      const float value = x[i * cols + j];
      sum += value;
      squares += double{value} * value;
      exps += std::exp(double{value});
      tops[j] = std::max(tops[j], value);
    }
    const double mean = sum / cols, variance = squares / cols - mean * mean;
    sums[i] = static_cast<float>(sum);
    for (Size j = 0; j < cols; ++j) {
      const double value = x[i * cols + j];
      soft[i * cols + j] = static_cast<float>(std::exp(value) / exps);
      rms[i * cols + j] = static_cast<float>(value * w[j] / std::sqrt(squares / cols + 1e-5));
      norm[i * cols + j] =
          static_cast<float>((value - mean) / std::sqrt(variance + 1e-5) * w[j] + b[j]);
    }
  }
  cpu->reduce(ReduceOp::sum, dx, per_row, shape, 1);
  check_close(cpu.get(per_row), sums);
  cpu->reduce(ReduceOp::mean, dx, per_row, shape, 1);
  for (float& sum : sums) sum /= cols;
  check_close(cpu.get(per_row), sums);
  cpu->reduce(ReduceOp::max, dx, per_col, shape, 0);
  check_close(cpu.get(per_col), tops);
  cpu->unary(UnaryOp::neg, dx, y, rows * cols);
  cpu->reduce(ReduceOp::min, y, per_col, shape, 0);
  for (float& top : tops) top = -top;
  check_close(cpu.get(per_col), tops);
  cpu->softmax(dx, y, shape, 1);
  check_close(cpu.get(y), soft);
  cpu->rmsnorm(dx, dw, y, rows, cols, 1e-5);
  check_close(cpu.get(y), rms);
  cpu->layer_norm(dx, dw, db, y, rows, cols, 1e-5);
  check_close(cpu.get(y), norm);
}

TEST_CASE("cpu: attention, whole and in its two halves") {
  const Cpu cpu;
  constexpr Size heads = 4, kv_heads = 2, queries = 3, keys = 19, dim = 13;
  const Floats q = numbers(heads * queries * dim), k = numbers(kv_heads * keys * dim),
               v = numbers(kv_heads * keys * dim);
  const Buffer dk = cpu.put(k), dv = cpu.put(v), o = cpu.room(heads * queries * dim);
  const auto head = [](const Floats& all, Size index, Size size) {
    return Floats(all.begin() + index * size, all.begin() + (index + 1) * size);
  };
  Floats expected, last_queries, last_expected;
  for (Size h = 0; h < heads; ++h) {
    const Floats own_q = head(q, h, queries * dim), own_k = head(k, h / 2, keys * dim);
    Floats weights(static_cast<std::size_t>(queries * keys));
    for (Size i = 0; i < queries; ++i) {
      double sum = 0;
      for (Size pass = 0; pass < 2; ++pass) {
        for (Size j = 0; j <= keys - queries + i; ++j) {
          double score = 0;
          for (Size d = 0; d < dim; ++d) score += double{own_q[i * dim + d]} * own_k[j * dim + d];
          const double weight = std::exp(0.3 * score);
          if (pass == 0) sum += weight;
          if (pass == 1) weights[i * keys + j] = static_cast<float>(weight / sum);
        }
      }
    }
    const Floats out = product(weights, head(v, h / 2, keys * dim), queries, dim, keys);
    expected.insert(expected.end(), out.begin(), out.end());
    last_queries.insert(last_queries.end(), own_q.end() - dim, own_q.end());
    last_expected.insert(last_expected.end(), out.end() - dim, out.end());
  }
  cpu->attention(cpu.put(q), dk, dv, o, 1, heads, queries, keys, dim, 0.3, true, keys - queries,
                 kv_heads);
  check_close(cpu.get(o), expected);

  // The last query sees every key.
  const Buffer scores = cpu.room(heads * keys), last = cpu.room(heads * dim);
  const Size shape[] = {heads, keys};
  cpu->attention_scores(cpu.put(last_queries), dk, scores, keys, dim, 0.3, heads, kv_heads);
  cpu->softmax(scores, scores, shape, 1);
  cpu->weighted_sum(scores, dv, last, keys, dim, heads, kv_heads);
  check_close(cpu.get(last), last_expected);
}

TEST_CASE("cpu: rope, gather and scatter") {
  const Cpu cpu;
  constexpr Size rows = 5, dim = 6, half = dim / 2;
  const Floats x = numbers(rows * dim), angles = numbers(rows * half);
  Floats cosines(angles), sines(angles), turned(x.size());
  for (std::size_t i = 0; i < angles.size(); ++i) {
    cosines[i] = std::cos(angles[i]);
    sines[i] = std::sin(angles[i]);
    const std::size_t first = i / half * dim + i % half, second = first + half;
    turned[first] = x[first] * cosines[i] - x[second] * sines[i];
    turned[second] = x[first] * sines[i] + x[second] * cosines[i];
  }
  const Buffer dx = cpu.put(x), y = cpu.room(rows * dim);
  cpu->rope(dx, cpu.put(cosines), cpu.put(sines), y, 1, 1, rows, dim, rows);
  check_close(cpu.get(y), turned);

  const std::vector<std::int32_t> indices{4, 0, 4, 7, -1};
  cpu->gather(dx, cpu.put(indices), y, rows, dim, 5);
  const Floats rows_of = cpu.get(y);
  for (std::size_t i = 0; i < dim; ++i) {
    CHECK(rows_of[i] == x[4 * dim + i]);
    CHECK(rows_of[dim + i] == x[i]);
    CHECK(rows_of[2 * dim + i] == x[4 * dim + i]);
    CHECK(std::isnan(rows_of[3 * dim + i]));
    CHECK(std::isnan(rows_of[4 * dim + i]));
  }
  const Buffer target = cpu.room(rows * dim);
  cpu->scatter(dx, cpu.put(indices), target, rows, dim, 5);
  const Floats scattered = cpu.get(target);
  for (std::size_t i = 0; i < dim; ++i) {
    CHECK(scattered[i] == x[dim + i]);
    CHECK(scattered[dim + i] == 1e30f);
    CHECK(scattered[4 * dim + i] == x[2 * dim + i]);
  }
}

}  // namespace
}  // namespace tilewright
