#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "cpu/elements.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

/// A long row in pieces that threads share. The cut depends on the length alone, so that the same
/// row gives the same bits on any number of threads.
struct Chunks {
  static constexpr std::size_t most = 128;

  explicit Chunks(std::size_t n) : n(n) {
    constexpr std::size_t least = 1 << 16;
    size = std::max(least, (n / most + 16) / 16 * 16);
    count = (n + size - 1) / size;
  }
  std::size_t begin(std::size_t i) const { return i * size; }
  std::size_t length(std::size_t i) const { return std::min(size, n - i * size); }

  std::size_t n, size, count;
};

/// of(begin, length) of every chunk, joined in their order. Not for n = 0.
template <class Of, class Join>
auto join_chunks(std::size_t n, Of&& of, Join&& join) {
  const Chunks chunks(n);
  if (chunks.count == 1) return of(std::size_t{0}, n);
  std::array<decltype(of(n, n)), Chunks::most + 1> parts;
  parallel_units(chunks.count, chunks.size,
                 [&](std::size_t i) { parts[i] = of(chunks.begin(i), chunks.length(i)); });
  auto all = parts[0];
  for (std::size_t i = 1; i < chunks.count; ++i) all = join(all, parts[i]);
  return all;
}

/// Calls body(begin, length) for every chunk.
template <class Body>
void for_chunks(std::size_t n, Body&& body) {
  const Chunks chunks(n);
  if (chunks.count == 1) return body(std::size_t{0}, n);
  parallel_units(chunks.count, chunks.size,
                 [&](std::size_t i) { body(chunks.begin(i), chunks.length(i)); });
}

/// Calls body(row) for each row: rows in parallel where they are enough for all threads or short,
/// else one after another, each in chunks.
template <class Body>
void for_rows(std::size_t rows, std::size_t row_size, Body&& body) {
  if (rows >= 4 * thread_count() || Chunks(row_size).count == 1) {
    parallel_units(rows, row_size, body);
  } else {
    for (std::size_t row = 0; row < rows; ++row) body(row);
  }
}

}  // namespace tilewright::cpu
