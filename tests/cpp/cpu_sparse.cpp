// Sparse products of the CPU backend, in buffers without a byte to spare. What they mean in full is
// held by tests/conformance; this is what runs under the sanitizers.

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu_device.hpp"
#include "tilewright/error.hpp"

namespace tilewright {
namespace {

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
  const Cpu cpu;
  const Rows a;
  const Size nnz = std::ssize(a.columns);
  const std::vector<float> values = numbers(nnz, 0.25f);
  const Buffer offsets = cpu.put(a.offsets), columns = cpu.put(a.columns);
  const Buffer elements = cpu.put(values);
  for (const Size n : {1, 3, 17, 64}) {
    CAPTURE(n);
    const std::vector<float> x = numbers(a.cols * n, 0.125f), before = numbers(a.rows * n, 0.5f);
    const Buffer in = cpu.put(x), out = cpu.put(before);
    cpu->sparse_matmul(offsets, columns, elements, in, out, a.rows, a.cols, nnz, n, n, n, 2.0,
                       -0.5);
    const std::vector<float> y = cpu.get(out);
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
    cpu->free(in);
    cpu->free(out);
  }
}

TEST_CASE("sparse products: a batch of blocks of any size") {
  const Cpu cpu;
  const Rows a;
  const Size nnz = std::ssize(a.columns), batch = 3;
  const Buffer offsets = cpu.put(a.offsets), columns = cpu.put(a.columns);
  for (const Size size : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16}) {
    CAPTURE(size);
    const Size area = size * size, of_x = a.cols * size, of_y = a.rows * size;
    const std::vector<float> values = numbers(batch * nnz * area, 0.25f);
    const std::vector<float> x = numbers(batch * of_x, 0.125f);
    const Buffer elements = cpu.put(values), in = cpu.put(x);
    const Buffer out = cpu.put(numbers(batch * of_y, 0.5f));
    cpu->sparse_matmul(offsets, columns, elements, in, out, a.rows, a.cols, nnz, 1, 1, 1, 1, 0,
                       false, DType::float32, size, size, batch, 0, 0, nnz * area, of_x, of_y);
    const std::vector<float> y = cpu.get(out);
    for (Size i = 0; i < batch * of_y; ++i) {
      const Size of = i / of_y, row = i % of_y / size, line = i % size;
      double sum = 0, magnitude = 0;
      for (Size z = a.offsets[static_cast<std::size_t>(row)];
           z < a.offsets[static_cast<std::size_t>(row) + 1]; ++z) {
        for (Size k = 0; k < size; ++k) {
          const Size value = ((of * nnz + z) * size + line) * size + k;
          const Size at = of * of_x + a.columns[static_cast<std::size_t>(z)] * size + k;
          const double product = double{values[static_cast<std::size_t>(value)]} *
                                 double{x[static_cast<std::size_t>(at)]};
          sum += product;
          magnitude += std::abs(product);
        }
      }
      CHECK(std::abs(y[static_cast<std::size_t>(i)] - sum) <= 1e-5 * magnitude);
    }
    for (const Buffer buffer : {elements, in, out}) cpu->free(buffer);
  }
}

TEST_CASE("sparse products: a column outside is an error, and nothing outside is read") {
  const Cpu cpu;
  Rows a;
  a.columns[40] = static_cast<std::int32_t>(a.cols);
  const Size nnz = std::ssize(a.columns);
  const Buffer offsets = cpu.put(a.offsets), columns = cpu.put(a.columns);
  const Buffer elements = cpu.put(numbers(nnz, 0.25f)), x = cpu.put(numbers(a.cols, 0.5f));
  const Buffer y = cpu.put(numbers(a.rows, 0.5f));
  CHECK_THROWS_AS(cpu->sparse_matmul(offsets, columns, elements, x, y, a.rows, a.cols, nnz),
                  IndexOutOfRange);
}

}  // namespace
}  // namespace tilewright
