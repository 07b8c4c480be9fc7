#pragma once

#include <cstddef>
#include <cstring>

namespace tilewright::cpu {

/// Four floats, which every processor that the library runs on takes as one.
typedef float Quad __attribute__((vector_size(16)));

template <class Join, std::size_t quads, bool has_before, bool exclusive>
std::size_t scan_rows_of_quads(const float* x, std::size_t rows, std::size_t inner, float* to,
                               float* sums, const float* before) {
  const auto load = [](const float* from) {
    Quad some;
    std::memcpy(&some, from, sizeof some);
    return some;
  };
  if (rows * inner < (quads + 3) * 4) return 1;
  // Rows behind which as much lies as their last quad reads and writes.
  const std::size_t fitting = (rows * inner - quads * 4) / inner + 1;
  Quad totals[quads], carry[quads];
  float padded[quads * 4] = {};
  std::memcpy(padded, sums, inner * sizeof(float));
  for (std::size_t q = 0; q < quads; ++q) totals[q] = load(padded + 4 * q);
  if (has_before) std::memcpy(padded, before, inner * sizeof(float));
  for (std::size_t q = 0; q < quads; ++q) carry[q] = load(padded + 4 * q);
  for (std::size_t i = 1; i < fitting; ++i) {
    x += inner;
    to += inner;
    Quad results[quads];
    for (std::size_t q = 0; q < quads; ++q) {
      const Quad next = Join::of(totals[q], load(x + 4 * q));
      const Quad one = exclusive ? totals[q] : next;
      results[q] = has_before ? Join::of(carry[q], one) : one;
      totals[q] = next;
    }
    // What is behind a row's end is written again as the next one.
    std::memcpy(to, results, sizeof results);
  }
  std::memcpy(padded, totals, sizeof padded);
  std::memcpy(sums, padded, inner * sizeof(float));
  return fitting;
}

/// Rows of up to 16 columns, one behind the other, from the second on: each joined with those
/// before it, whose totals are in `sums`, and the results with `before` unless it is null. `to` is
/// not x. Gives the rows that are done, the first one among them; the last ones may be left.
template <class Join>
std::size_t scan_quads(const float* x, std::size_t rows, std::size_t inner, float* to, float* sums,
                       const float* before, bool exclusive) {
  const auto with = [&]<std::size_t quads>() {
    const auto of = before == nullptr ? (exclusive ? scan_rows_of_quads<Join, quads, false, true>
                                                   : scan_rows_of_quads<Join, quads, false, false>)
                                      : (exclusive ? scan_rows_of_quads<Join, quads, true, true>
                                                   : scan_rows_of_quads<Join, quads, true, false>);
    return of(x, rows, inner, to, sums, before);
  };
  if (inner <= 4) return with.template operator()<1>();
  if (inner <= 8) return with.template operator()<2>();
  if (inner <= 12) return with.template operator()<3>();
  return inner <= 16 ? with.template operator()<4>() : 1;
}

}  // namespace tilewright::cpu
