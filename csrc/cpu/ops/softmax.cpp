#include "cpu/ops/softmax.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/chunks.hpp"
#include "cpu/convert.hpp"
#include "cpu/elements.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::size_t short_row = 8192;  // its float32 values fit the nearest caches

float larger(float a, float b) { return a != a || a > b ? a : b; }

/// What the exponentials of a row are multiplied by, or taken off its elements in the end.
template <bool is_log>
float end_of(double sum) {
  return static_cast<float>(is_log ? std::log(sum) : 1 / sum);
}

/// The same of many.
template <bool is_log>
void ends_of(const double* sums, std::size_t n, float* ends) {
  for (std::size_t i = 0; i < n; ++i) ends[i] = static_cast<float>(is_log ? sums[i] : 1 / sums[i]);
  if (is_log) kernels().float32.unary(UnaryOp::log, ends, ends, n, Store::cached);
}

/// Keeps the exponentials between their sum and the division by it.
template <bool is_log, class T>
void softmax_short_row(const T* x, T* output, std::size_t n, Store how) {
  alignas(64) float exponentials[short_row];
  const ElementKernels<T>& k = kernels_for<T>();
  const float max = k.max(x, n);
  if constexpr (is_log) {
    k.less_both(x, n, max, end_of<true>(k.sum_of_exp(x, n, max)), output, how);
    return;
  }
  const double sum = k.exp_and_sum(x, n, max, exponentials);
  k.scale_from(exponentials, n, static_cast<float>(1 / sum), output, how);
}

/// Computes the exponentials twice: cheaper than to store them far away.
template <bool is_log, class T>
void softmax_long_row(const T* x, T* output, std::size_t n, Store how) {
  const ElementKernels<T>& k = kernels_for<T>();
  const float max = join_chunks(
      n, [&](std::size_t begin, std::size_t length) { return k.max(x + begin, length); }, larger);
  const double sum = join_chunks(
      n,
      [&](std::size_t begin, std::size_t length) { return k.sum_of_exp(x + begin, length, max); },
      [](double a, double b) { return a + b; });
  const float end = end_of<is_log>(sum);
  for_chunks(n, [&](std::size_t begin, std::size_t length) {
    (is_log ? k.less_both : k.scaled_exp)(x + begin, length, max, end, output + begin, how);
  });
}

/// Rows of some vectors that are taken by one call.
constexpr std::size_t short_rows = 64;

/// The logarithm for rows that are longer, of whose sums several at a time are had by vectors.
constexpr std::size_t short_log_row = 1024, log_rows = 32;

template <class T>
void log_softmax_rows(const T* x, T* output, std::size_t rows, std::size_t n, Store how) {
  const ElementKernels<T>& k = kernels_for<T>();
  std::array<float, log_rows> max, log;
  for (std::size_t i = 0; i < rows; ++i) {
    max[i] = k.max(x + i * n, n);
    log[i] = static_cast<float>(k.sum_of_exp(x + i * n, n, max[i]));
  }
  kernels().float32.unary(UnaryOp::log, log.data(), log.data(), rows, Store::cached);
  for (std::size_t i = 0; i < rows; ++i) {
    k.less_both(x + i * n, n, max[i], log[i], output + i * n, how);
  }
}

constexpr std::size_t widest_tile = 512, short_column = 8;

/// Rows of few columns that lie one behind the other are taken several at a time as one, which
/// fills vectors. How many: 1, or a power of two from 16 on.
constexpr std::size_t narrow = 16, widest_together = 256;

std::size_t rows_together(std::size_t rows, std::size_t inner, std::size_t width) {
  constexpr std::size_t least = 16, passes = 4;
  if (width != inner || width >= narrow || rows < 2 * least) return 1;
  return std::bit_floor(std::clamp(rows / passes, least, widest_together / width));
}

/// Numbers of columns, once for each of the rows that are taken together.
struct Repeated {
  Repeated(const float* numbers, std::size_t width, std::size_t together) {
    std::copy_n(numbers, width, all.data());
    for (std::size_t n = width; n < together * width; n *= 2) std::copy_n(all.data(), n, &all[n]);
  }
  alignas(64) std::array<float, widest_together> all;
};

template <class T>
void max_of_columns(const T* x, std::size_t rows, std::size_t inner, std::size_t width,
                    float* max) {
  const ElementKernels<T>& k = kernels_for<T>();
  const std::size_t together = rows_together(rows, inner, width), wide = together * width;
  if (together == 1) return k.max_rows(x, rows, inner, width, max);
  alignas(64) std::array<float, widest_together + narrow> all;
  std::fill_n(all.data(), padded_width(wide), -std::numeric_limits<float>::infinity());
  k.max_rows(x, rows / together, wide, wide, all.data());
  for (std::size_t n = wide / 2; n >= width; n /= 2) {
    kernels().float32.max_rows(&all[n], 1, n, n, all.data());
  }
  kernels().float32.max_rows(all.data(), 1, width, width, max);
  const std::size_t done = rows / together * together;
  k.max_rows(x + done * inner, rows - done, inner, width, max);
}

template <class T>
void add_powers_of_columns(const T* x, std::size_t rows, std::size_t inner, std::size_t width,
                           const float* max, double* sums) {
  const ElementKernels<T>& k = kernels_for<T>();
  const std::size_t together = rows_together(rows, inner, width), wide = together * width;
  if (together == 1) return k.add_exp_rows(x, rows, inner, width, max, sums);
  alignas(64) std::array<double, widest_together> all;
  std::fill_n(all.data(), padded_width(wide), 0.0);
  k.add_exp_rows(x, rows / together, wide, wide, Repeated(max, width, together).all.data(),
                 all.data());
  for (std::size_t n = wide / 2; n >= width; n /= 2) {
    for (std::size_t j = 0; j < n; ++j) all[j] += all[n + j];
  }
  for (std::size_t j = 0; j < width; ++j) sums[j] += all[j];
  const std::size_t done = rows / together * together;
  k.add_exp_rows(x + done * inner, rows - done, inner, width, max, sums);
}

template <bool is_log, class T>
void end_columns(const T* x, std::size_t rows, std::size_t inner, std::size_t width,
                 const float* max, const float* ends, T* output) {
  const auto finish = is_log ? kernels_for<T>().less_both_rows : kernels_for<T>().scaled_exp_rows;
  const std::size_t together = rows_together(rows, inner, width), wide = together * width;
  const std::size_t done = together == 1 ? 0 : rows / together * together;
  if (done != 0) {
    const Repeated all_max(max, width, together), all_ends(ends, width, together);
    finish(x, rows / together, wide, wide, all_max.all.data(), all_ends.all.data(), output);
  }
  finish(x + done * inner, rows - done, inner, width, max, ends, output + done * inner);
}

/// `width` neighbouring columns with `inner` between rows.
template <bool is_log, class T>
void softmax_columns(const T* x, T* output, std::size_t length, std::size_t inner,
                     std::size_t width) {
  if (length <= short_column) {
    return kernels_for<T>().softmax_short_columns(x, length, inner, width, is_log, output);
  }
  const std::size_t padded = padded_width(width);
  const std::size_t chunk_rows = std::max<std::size_t>(1, 2 * element_grain / width);
  const std::size_t chunks = std::min<std::size_t>(64, (length + chunk_rows - 1) / chunk_rows);
  float max[widest_tile], ends[widest_tile];
  double sum[widest_tile];
  std::fill_n(max, padded, -std::numeric_limits<float>::infinity());
  std::fill_n(sum, padded, 0.0);
  if (chunks == 1) {
    max_of_columns(x, length, inner, width, max);
    add_powers_of_columns(x, length, inner, width, max, sum);
    ends_of<is_log>(sum, width, ends);
    end_columns<is_log>(x, length, inner, width, max, ends, output);
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
    max_of_columns(x + at, count, inner, width, &maxima[i * padded]);
  });
  for (std::size_t i = 0; i < chunks * padded; ++i) {
    max[i % padded] = larger(max[i % padded], maxima[i]);
  }
  std::vector<double> sums(chunks * padded);
  each([&](std::size_t i, std::size_t at, std::size_t count) {
    add_powers_of_columns(x + at, count, inner, width, max, &sums[i * padded]);
  });
  for (std::size_t i = 0; i < chunks * padded; ++i) sum[i % padded] += sums[i];
  ends_of<is_log>(sum, width, ends);
  each([&](std::size_t, std::size_t at, std::size_t count) {
    end_columns<is_log>(x + at, count, inner, width, max, ends, output + at);
  });
}

/// Samples of so few elements are turned, so that those of several lie side by side.
constexpr std::size_t small_sample = 256, turned_elements = 4096, least_at_once = 16;

template <bool is_log, class T>
void softmax_samples(const T* x, T* output, std::size_t count, std::size_t at_once,
                     std::size_t length, std::size_t inner) {
  const std::size_t elements = length * inner;
  alignas(64) std::array<float, turned_elements> turned, results;
  row_kernels<T>().transpose(x, count, elements, elements, 1, turned.data(), at_once);
  for (std::size_t j = 0; j < elements && count < at_once; ++j) {
    // Columns beyond the last sample are nothing's.
    std::fill_n(turned.data() + j * at_once + count, at_once - count, 0.0f);
  }
  const std::size_t width = inner * at_once;
  softmax_columns<is_log>(turned.data(), turned.data(), length, width, width);
  row_kernels<float>().transpose(turned.data(), elements, at_once, count, 1, results.data(),
                                 elements);
  kernels_for<T>().scale_from(results.data(), count * elements, 1, output, Store::cached);
}

template <bool is_log, class T>
void softmax_of(const SoftmaxRows& r) {
  const auto [outer, length, inner] = std::array{r.outer, r.length, r.inner};
  const T* x = static_cast<const T*>(r.x);
  T* output = static_cast<T*>(r.output);
  const std::size_t sample = length * inner;
  const bool is_beside_few = inner < least_at_once && (inner > 1 || length < least_at_once);
  if (sample <= small_sample && is_beside_few && outer > 1) {
    const std::size_t fitting = std::min(widest_tile / inner, turned_elements / sample);
    const std::size_t at_once = fitting / least_at_once * least_at_once;
    for_rows((outer + at_once - 1) / at_once, at_once * sample, [&](std::size_t i) {
      const std::size_t first = i * at_once;
      softmax_samples<is_log>(x + first * sample, output + first * sample,
                              std::min(at_once, outer - first), at_once, length, inner);
    });
    return;
  }
  if (inner == 1 && length <= 4 * kernels().simd_width) {
    for_rows((outer + short_rows - 1) / short_rows, short_rows * length, [&](std::size_t i) {
      const std::size_t first = i * short_rows, at = first * length;
      kernels_for<T>().softmax_short_rows(x + at, std::min(short_rows, outer - first), length,
                                          is_log, output + at);
    });
    return;
  }
  if (inner == 1) {
    constexpr std::size_t worth_streaming = 256;
    const Store how = length < worth_streaming
                          ? Store::cached
                          : store_for(outer * length * sizeof(T), r.x == r.output);
    if (is_log && length <= short_log_row) {
      for_rows((outer + log_rows - 1) / log_rows, log_rows * length, [&](std::size_t i) {
        const std::size_t first = i * log_rows, at = first * length;
        log_softmax_rows(x + at, output + at, std::min(log_rows, outer - first), length, how);
      });
      return;
    }
    for_rows(outer, length, [&](std::size_t row) {
      const auto one =
          length <= short_row ? softmax_short_row<is_log, T> : softmax_long_row<is_log, T>;
      one(x + row * length, output + row * length, length, how);
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
    softmax_columns<is_log>(x + at, output + at, length, inner, std::min(width, inner - first));
  });
}

}  // namespace

void softmax_rows(const SoftmaxRows& r) {
  with_element_type(
      r.dtype, [&]<class T>(T) { (r.is_log ? softmax_of<true, T> : softmax_of<false, T>)(r); });
}

void CpuBackend::do_softmax(const SoftmaxRequest& r) {
  softmax_rows({data<std::byte>(r.input), data<std::byte>(r.output),
                static_cast<std::size_t>(r.outer), static_cast<std::size_t>(r.length),
                static_cast<std::size_t>(r.inner), r.dtype, r.log});
}

}  // namespace tilewright::cpu
