#pragma once

#include "cpu/kernels/fold_rows.hpp"
#include "cpu/kernels/placed.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

/// The sum of value() over the n elements of x, lane by lane; value(fill) is 0.
template <class T, class Value>
static inline Floats sum_lanes(const T* x, std::size_t n, float fill, Value value) {
  Floats even{}, odd{};
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even += value(load(x + i));
    odd += value(load(x + i + lanes));
  }
  for (; i + lanes <= n; i += lanes) even += value(load(x + i));
  if (i < n) odd += value(load(x + i, n - i, fill));
  return even + odd;
}

/// Rows of one element, as normalize_rows() has them.
template <class T>
static void normalize_ones(const T* x, std::size_t rows, float eps, bool centred, const T* weight,
                           const T* bias, T* output) {
  const float factor = weight != nullptr ? load(weight, 1)[0] : 1.0f;
  const float addend = bias != nullptr ? load(bias, 1)[0] : -0.0f;
  generate(output, rows, Store::cached, [=](auto read) {
    const Floats value = read(x), d = centred ? value - value : value;
    return d * (1 / sqrt(d * d + eps)) * factor + addend;
  });
}

/// The mean of four rows in two parts, 0 where they are not centred, and 1 over their deviation:
/// the sums are joined side by side.
template <class T>
static inline void scales_of_four(const T* const (&row)[4], std::size_t n, float eps, bool centred,
                                  float (&centre)[4], float (&offset)[4], float (&factor)[4]) {
  const auto count = static_cast<float>(n);
  float squares[4];
  Floats parts[4], off[4];
  for (std::size_t i = 0; i < 4; ++i) centre[i] = offset[i] = 0;
  if (centred) {
    for (std::size_t i = 0; i < 4; ++i) {
      parts[i] = sum_lanes(row[i], n, 0, [](Floats value) { return value; });
    }
    join_four<JoinSum>(parts, centre);
    for (std::size_t i = 0; i < 4; ++i) centre[i] /= count;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const float middle = centre[i];
    parts[i] = sum_lanes(row[i], n, middle, [=](Floats value) {
      const Floats d = value - middle;
      return d * d;
    });
    if (centred) {
      off[i] = sum_lanes(row[i], n, middle, [=](Floats value) { return value - middle; });
    }
  }
  join_four<JoinSum>(parts, squares);
  if (centred) join_four<JoinSum>(off, offset);
  for (std::size_t i = 0; i < 4; ++i) {
    // What the mean is off by shows in the deviations from it.
    offset[i] /= count;
    const float variance = squares[i] / count - offset[i] * offset[i];
    factor[i] = 1 / __builtin_sqrtf(variance + eps);
  }
}

/// Calls body(first, now, centre, offset, factor) for four rows at a time; the last one stands for
/// those that there are not.
template <class T, class Body>
static inline void for_four_rows(const T* x, std::size_t rows, std::size_t n, float eps,
                                 bool centred, const Body& body) {
  for (std::size_t first = 0; first < rows; first += 4) {
    const std::size_t now = rows - first < 4 ? rows - first : 4;
    const T* row[4];
    for (std::size_t i = 0; i < 4; ++i) row[i] = x + (first + (i < now ? i : now - 1)) * n;
    float centre[4], offset[4], factor[4];
    scales_of_four(row, n, eps, centred, centre, offset, factor);
    body(first, now, centre, offset, factor);
  }
}

template <class T>
static void row_scales(const T* x, std::size_t rows, std::size_t n, float eps, float* centres,
                       float* offsets, float* factors) {
  for_four_rows(x, rows, n, eps, true,
                [=](std::size_t first, std::size_t now, const float* centre, const float* offset,
                    const float* factor) {
                  for (std::size_t i = 0; i < now; ++i) {
                    centres[first + i] = centre[i];
                    offsets[first + i] = offset[i];
                    factors[first + i] = factor[i];
                  }
                });
}

#if defined(TILEWRIGHT_HAS_PLACED)
constexpr std::size_t tiny_row = 8;

/// Rows of so few elements, by columns; gives how many of them, as many as vectors have lanes at a
/// time.
static std::size_t normalize_tiny_rows(const float* x, std::size_t rows, std::size_t n, float eps,
                                       bool centred, const float* weight, const float* bias,
                                       float* output) {
  const RowPlaces places(n);
  const auto count = static_cast<float>(n);
  // Of as many rows one behind the other.
  float weights[tiny_row * lanes], biases[tiny_row * lanes];
  for (std::size_t i = 0; i < lanes; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      weights[i * n + j] = weight != nullptr ? weight[j] : 1.0f;
      biases[i * n + j] = bias != nullptr ? bias[j] : -0.0f;
    }
  }
  std::size_t row = 0;
  for (; row + lanes <= rows; row += lanes, x += lanes * n, output += lanes * n) {
    Floats columns[tiny_row], centre{}, offset{}, squares{};
    for (std::size_t j = 0; j < n; ++j) {
      columns[j] = column_of(x, n, j);
      centre += columns[j];
    }
    centre = centred ? centre / count : Floats{};
    for (std::size_t j = 0; j < n; ++j) {
      const Floats d = columns[j] - centre;
      offset += d;
      squares += d * d;
    }
    offset = centred ? offset / count : Floats{};
    const Floats factor = 1 / sqrt(squares / count - offset * offset + eps);
    for (std::size_t v = 0; v < n; ++v) {
      const Ints place = places.of(v);
      const Floats off = (load(x + v * lanes) - placed(centre, place)) - placed(offset, place);
      store(output + v * lanes,
            off * placed(factor, place) * load(weights + v * lanes) + load(biases + v * lanes));
    }
  }
  return row;
}
#endif

template <class T>
static void normalize_rows(const T* x, std::size_t rows, std::size_t n, float eps, bool centred,
                           const T* weight, const T* bias, T* output) {
  if (n == 1) return normalize_ones(x, rows, eps, centred, weight, bias, output);
#if defined(TILEWRIGHT_HAS_PLACED)
  if constexpr (sizeof(T) == sizeof(float)) {
    if (n <= tiny_row) {
      const std::size_t done = normalize_tiny_rows(x, rows, n, eps, centred, weight, bias, output);
      rows -= done;
      x += done * n;
      output += done * n;
    }
  }
#endif
  for_four_rows(x, rows, n, eps, centred,
                [=](std::size_t first, std::size_t now, const float* centre, const float* offset,
                    const float* factor) {
                  for (std::size_t i = 0; i < now; ++i) {
                    normalize(x + (first + i) * n, n, centre[i], offset[i], factor[i], weight, bias,
                              output + (first + i) * n, Store::cached);
                  }
                });
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
