#include <algorithm>
#include <limits>
#include <vector>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/chunks.hpp"
#include "cpu/elements.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::size_t tile_width = 2048;  // accumulators of a tile stay in the first cache

/// Sums and means, gathered in float64.
template <class T>
struct Sum {
  using Value = double;
  double divisor;

  static constexpr Value start = 0;
  Value of(const T* x, std::size_t n) const { return kernels_for<T>().sum(x, n); }
  void rows(const T* x, std::size_t rows, std::size_t stride, std::size_t width, Value* acc) const {
    kernels_for<T>().add_rows(x, rows, stride, width, acc);
  }
  Value join(Value a, Value b) const { return a + b; }
  float result(Value sum) const { return static_cast<float>(sum / divisor); }
};

template <class T, bool largest>
struct Extreme {
  using Value = float;
  static constexpr Value start =
      largest ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();

  Value of(const T* x, std::size_t n) const {
    return largest ? kernels_for<T>().max(x, n) : kernels_for<T>().min(x, n);
  }
  void rows(const T* x, std::size_t rows, std::size_t stride, std::size_t width, Value* acc) const {
    (largest ? kernels_for<T>().max_rows : kernels_for<T>().min_rows)(x, rows, stride, width, acc);
  }
  Value join(Value a, Value b) const { return a != a || (largest ? a > b : a < b) ? a : b; }
  float result(Value value) const { return value; }
};

template <class T>
void store_results(const float* results, T* output, std::size_t n) {
  if constexpr (sizeof(T) == 2) {
    kernels_for<float>().to_float16(results, output, n, Store::cached);
  } else {
    std::copy(results, results + n, output);
  }
}

/// Rows of contiguous elements, each to one number.
template <class T, class Reduction>
void reduce_rows(const Reduction& reduction, const T* x, T* output, std::size_t rows,
                 std::size_t length) {
  constexpr std::size_t most_at_once = 64;
  const std::size_t at_once = std::clamp<std::size_t>(element_grain / length, 1, most_at_once);
  const bool one_chunk = Chunks(length).count == 1;
  for_rows((rows + at_once - 1) / at_once, at_once * length, [&](std::size_t unit) {
    float results[most_at_once];
    const std::size_t first = unit * at_once, count = std::min(at_once, rows - first);
    for (std::size_t i = 0; i < count; ++i) {
      const T* row = x + (first + i) * length;
      results[i] = reduction.result(
          one_chunk
              ? reduction.of(row, length)
              : join_chunks(
                    length,
                    [&](std::size_t begin, std::size_t n) { return reduction.of(row + begin, n); },
                    [&](auto a, auto b) { return reduction.join(a, b); }));
    }
    store_results(results, output + first, count);
  });
}

/// Some columns of `rows` rows into acc. Narrow rows are taken several at a time as one wide row.
template <class T, class Reduction>
void reduce_tile(const Reduction& reduction, const T* x, std::size_t rows, std::size_t inner,
                 std::size_t width, typename Reduction::Value* acc) {
  constexpr std::size_t wide = 256;
  std::fill_n(acc, padded_width(width), Reduction::start);
  std::size_t done = 0;
  if (const std::size_t together = wide / inner; together >= 2 && rows >= 2 * together) {
    typename Reduction::Value joined[wide];
    const std::size_t all = together * inner;
    std::fill_n(joined, wide, Reduction::start);
    reduction.rows(x, rows / together, all, all, joined);
    for (std::size_t i = 0; i < all; ++i) {
      acc[i % inner] = reduction.join(acc[i % inner], joined[i]);
    }
    done = rows / together * together;
  }
  if (done < rows) reduction.rows(x + done * inner, rows - done, inner, width, acc);
}

/// An axis with others after it: tiles of columns, and chunks of rows where the tiles are few. The
/// cut depends on the sizes alone.
template <class T, class Reduction>
void reduce_columns(const Reduction& reduction, const T* x, T* output, std::size_t outer,
                    std::size_t length, std::size_t inner) {
  using Value = typename Reduction::Value;
  constexpr std::size_t enough_tasks = 128, least_elements = 1 << 16;
  const std::size_t tiles = (inner + tile_width - 1) / tile_width;
  const std::size_t width = std::min(inner, tile_width);
  const std::size_t chunks = std::clamp<std::size_t>(enough_tasks / (outer * tiles), 1,
                                                     length * width / least_elements + 1);
  const std::size_t chunk_rows = (length + chunks - 1) / chunks;

  const auto columns = [&](std::size_t tile) { return std::min(width, inner - tile * width); };
  const auto finish = [&](const Value* acc, std::size_t tile_of_all) {
    float results[tile_width];
    const std::size_t tile = tile_of_all % tiles, count = columns(tile);
    for (std::size_t j = 0; j < count; ++j) results[j] = reduction.result(acc[j]);
    store_results(results, output + tile_of_all / tiles * inner + tile * width, count);
  };
  const auto reduce_chunk = [&](std::size_t tile_of_all, std::size_t chunk, Value* acc) {
    const std::size_t tile = tile_of_all % tiles, first = std::min(length, chunk * chunk_rows);
    const T* from = x + (tile_of_all / tiles * length + first) * inner + tile * width;
    reduce_tile(reduction, from, std::min(chunk_rows, length - first), inner, columns(tile), acc);
  };

  if (chunks == 1) {
    parallel_units(outer * tiles, length * width, [&](std::size_t unit) {
      Value acc[tile_width];
      reduce_chunk(unit, 0, acc);
      finish(acc, unit);
    });
    return;
  }
  const std::size_t padded = padded_width(width);
  std::vector<Value> parts(outer * tiles * chunks * padded);
  parallel_tasks(outer * tiles * chunks, [&](std::size_t task) {
    reduce_chunk(task / chunks, task % chunks, parts.data() + task * padded);
  });
  for (std::size_t unit = 0; unit < outer * tiles; ++unit) {
    Value* acc = parts.data() + unit * chunks * padded;
    for (std::size_t chunk = 1; chunk < chunks; ++chunk) {
      for (std::size_t j = 0; j < padded; ++j) {
        acc[j] = reduction.join(acc[j], acc[chunk * padded + j]);
      }
    }
    finish(acc, unit);
  }
}

template <class T, class Reduction>
void reduce_axis(const Reduction& reduction, const ReduceRequest& r) {
  const auto outer = static_cast<std::size_t>(r.outer);
  const auto length = static_cast<std::size_t>(r.length);
  const auto inner = static_cast<std::size_t>(r.inner);
  const T* x = data<T>(r.input);
  T* output = data<T>(r.output);
  if (length == 0) {
    const float empty = reduction.result(Reduction::start);
    for (std::size_t i = 0; i < outer * inner; ++i) store_results(&empty, output + i, 1);
  } else if (inner == 1) {
    reduce_rows(reduction, x, output, outer, length);
  } else {
    reduce_columns(reduction, x, output, outer, length, inner);
  }
}

}  // namespace

void CpuBackend::do_reduce(const ReduceRequest& r) {
  with_element_type(r.dtype, [&]<class T>(T) {
    switch (r.op) {
      case ReduceOp::sum:
        return reduce_axis<T>(Sum<T>{1}, r);
      case ReduceOp::mean:
        return reduce_axis<T>(Sum<T>{static_cast<double>(r.length)}, r);
      case ReduceOp::max:
        return reduce_axis<T>(Extreme<T, true>{}, r);
      case ReduceOp::min:
        return reduce_axis<T>(Extreme<T, false>{}, r);
    }
  });
}

}  // namespace tilewright::cpu
