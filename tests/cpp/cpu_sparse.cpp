// Sparse products of the CPU backend, in buffers without a byte to spare. What they mean in full is
// held by tests/conformance; this is what runs under the sanitizers.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tilewright/error.hpp"
#include "tilewright/registry.hpp"

namespace tilewright {
namespace {

template <class T>
Buffer put(Backend& be, const std::vector<T>& values) {
  const Buffer buffer = be.alloc(static_cast<Size>(values.size() * sizeof(T)));
  be.copy_htod(buffer, std::as_bytes(std::span(values)));
  return buffer;
}
std::vector<float> get(Backend& be, Buffer buffer) {
  std::vector<float> values(static_cast<std::size_t>(be.buffer_bytes(buffer)) / 4);
  be.copy_dtoh(std::as_writable_bytes(std::span(values)), buffer);
  return values;
}
std::vector<float> numbers(Size n, float step) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 17) * step - 1.0f;
  }
  return values;
}

/// Rows of 0, 1, 2, ... elements, one of all columns among them.
struct Rows {
  Size rows = 37, cols = 29;
  std::vector<std::int32_t> offsets{0}, columns;

  Rows() {
    for (Size row = 0; row < rows; ++row) {
      const Size count = row == 20 ? cols : row % 7;
      for (Size i = 0; i < count; ++i) {
        columns.push_back(static_cast<std::int32_t>((row * 5 + i * 3) % cols));
      }
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
  }
};

TEST_CASE("sparse products: rows of any length by any number of columns") {
  const auto be = init_backend("cpu");
  const Rows a;
  const Size nnz = std::ssize(a.columns);
  const std::vector<float> values = numbers(nnz, 0.25f);
  const Buffer offsets = put(*be, a.offsets), columns = put(*be, a.columns);
  const Buffer elements = put(*be, values);
  for (const Size n : {1, 3, 17, 64}) {
    CAPTURE(n);
    const std::vector<float> x = numbers(a.cols * n, 0.125f), before = numbers(a.rows * n, 0.5f);
    const Buffer in = put(*be, x), out = put(*be, before);
    be->sparse_matmul(offsets, columns, elements, in, out, a.rows, a.cols, nnz, n, n, n, 2.0, -0.5);
    const std::vector<float> y = get(*be, out);
    for (Size row = 0; row < a.rows; ++row) {
      for (Size j = 0; j < n; ++j) {
        double sum = 0;
        for (auto z = a.offsets[static_cast<std::size_t>(row)];
             z < a.offsets[static_cast<std::size_t>(row) + 1]; ++z) {
          const auto at = static_cast<std::size_t>(z);
          sum += double{values[at]} * double{x[static_cast<std::size_t>(a.columns[at] * n + j)]};
        }
        const auto at = static_cast<std::size_t>(row * n + j);
        CHECK(y[at] == doctest::Approx(2 * sum - 0.5 * double{before[at]}).epsilon(1e-5));
      }
    }
    be->free(in);
    be->free(out);
  }
}

TEST_CASE("sparse products: a column outside is an error, and nothing outside is read") {
  const auto be = init_backend("cpu");
  Rows a;
  a.columns[40] = static_cast<std::int32_t>(a.cols);
  const Size nnz = std::ssize(a.columns);
  const Buffer offsets = put(*be, a.offsets), columns = put(*be, a.columns);
  const Buffer elements = put(*be, numbers(nnz, 0.25f)), x = put(*be, numbers(a.cols, 0.5f));
  const Buffer y = put(*be, numbers(a.rows, 0.5f));
  CHECK_THROWS_AS(be->sparse_matmul(offsets, columns, elements, x, y, a.rows, a.cols, nnz),
                  IndexOutOfRange);
}

}  // namespace
}  // namespace tilewright
