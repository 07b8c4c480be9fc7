#include <algorithm>
#include <limits>
#include <vector>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/chunks.hpp"
#include "cpu/elements.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::size_t short_row = 8192;  // its float32 values fit the nearest caches

float larger(float a, float b) { return a != a || a > b ? a : b; }

/// Keeps the exponentials between their sum and the division by it.
template <class T>
void softmax_short_row(const T* x, T* output, std::size_t n, Store how) {
  alignas(64) float exponentials[short_row];
  const ElementKernels<T>& k = kernels_for<T>();
  const double sum = k.exp_and_sum(x, n, k.max(x, n), exponentials);
  k.scale_from(exponentials, n, static_cast<float>(1 / sum), output, how);
}

/// Computes the exponentials twice: cheaper than to store them far away.
template <class T>
void softmax_long_row(const T* x, T* output, std::size_t n, Store how) {
  const ElementKernels<T>& k = kernels_for<T>();
  const float max = join_chunks(
      n, [&](std::size_t begin, std::size_t length) { return k.max(x + begin, length); }, larger);
  const double sum = join_chunks(
      n,
      [&](std::size_t begin, std::size_t length) { return k.sum_of_exp(x + begin, length, max); },
      [](double a, double b) { return a + b; });
  const auto factor = static_cast<float>(1 / sum);
  for_chunks(n, [&](std::size_t begin, std::size_t length) {
    k.scaled_exp(x + begin, length, max, factor, output + begin, how);
  });
}

constexpr std::size_t widest_tile = 512;

/// `width` neighbouring columns with `inner` between rows.
template <class T>
void softmax_columns(const T* x, T* output, std::size_t length, std::size_t inner,
                     std::size_t width) {
  const ElementKernels<T>& k = kernels_for<T>();
  const std::size_t padded = padded_width(width);
  const std::size_t chunk_rows = std::max<std::size_t>(1, 2 * element_grain / width);
  const std::size_t chunks = std::min<std::size_t>(64, (length + chunk_rows - 1) / chunk_rows);
  float max[widest_tile], factor[widest_tile];
  double sum[widest_tile];
  std::fill_n(max, padded, -std::numeric_limits<float>::infinity());
  std::fill_n(sum, padded, 0.0);
  if (chunks == 1) {
    k.max_rows(x, length, inner, width, max);
    k.add_exp_rows(x, length, inner, width, max, sum);
    for (std::size_t j = 0; j < width; ++j) factor[j] = static_cast<float>(1 / sum[j]);
    k.scaled_exp_rows(x, length, inner, width, max, factor, output);
    return;
  }
  const std::size_t rows = (length + chunks - 1) / chunks;
  const auto each = [&](auto body) {
    parallel_tasks(chunks, [&](std::size_t i) {
      const std::size_t first = std::min(length, i * rows);
      body(i, first * inner, std::min(rows, length - first));
    });
  };
  std::vector<float> maxima(chunks * padded, -std::numeric_limits<float>::infinity());
  each([&](std::size_t i, std::size_t at, std::size_t count) {
    k.max_rows(x + at, count, inner, width, &maxima[i * padded]);
  });
  for (std::size_t i = 0; i < chunks * padded; ++i) {
    max[i % padded] = larger(max[i % padded], maxima[i]);
  }
  std::vector<double> sums(chunks * padded);
  each([&](std::size_t i, std::size_t at, std::size_t count) {
    k.add_exp_rows(x + at, count, inner, width, max, &sums[i * padded]);
  });
  for (std::size_t i = 0; i < chunks * padded; ++i) sum[i % padded] += sums[i];
  for (std::size_t j = 0; j < width; ++j) factor[j] = static_cast<float>(1 / sum[j]);
  each([&](std::size_t, std::size_t at, std::size_t count) {
    k.scaled_exp_rows(x + at, count, inner, width, max, factor, output + at);
  });
}

}  // namespace

void CpuBackend::do_softmax(const SoftmaxRequest& r) {
  with_element_type(r.dtype, [&]<class T>(T) {
    const auto outer = static_cast<std::size_t>(r.outer);
    const auto length = static_cast<std::size_t>(r.length);
    const auto inner = static_cast<std::size_t>(r.inner);
    const T* x = data<T>(r.input);
    T* output = data<T>(r.output);
    if (inner == 1) {
      constexpr std::size_t worth_streaming = 256;
      const Store how = length < worth_streaming
                            ? Store::cached
                            : store_for(outer * length * sizeof(T), r.input == r.output);
      for_rows(outer, length, [&](std::size_t row) {
        (length <= short_row ? softmax_short_row<T> : softmax_long_row<T>)(x + row * length,
                                                                           output + row * length,
                                                                           length, how);
      });
      return;
    }
    // Columns of a tile are read three times: they should stay in a cache.
    constexpr std::size_t cached_elements = 1 << 16;
    const std::size_t fitting = cached_elements / length / 16 * 16;
    const std::size_t width = std::min(inner, std::clamp<std::size_t>(fitting, 16, widest_tile));
    const std::size_t tiles = (inner + width - 1) / width;
    for_rows(outer * tiles, length * width, [&](std::size_t unit) {
      const std::size_t first = unit % tiles * width;
      const std::size_t at = unit / tiles * length * inner + first;
      softmax_columns(x + at, output + at, length, inner, std::min(width, inner - first));
    });
  });
}

}  // namespace tilewright::cpu
