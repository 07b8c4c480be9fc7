#include "core/fft_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>

namespace tilewright::fft_tables {

namespace {

/// The transform of every step-th of `count` numbers, each pass by one prime.
void transform_every(const std::complex<double>* from, std::complex<double>* to, Size count,
                     Size step, const Numbers& roots) {
  if (count == 1) {
    *to = *from;
    return;
  }
  Size prime = 2;
  while (count % prime != 0) ++prime;
  const Size rest = count / prime, whole = std::ssize(roots);
  for (Size i = 0; i < prime; ++i) {
    transform_every(from + i * step, to + i * rest, rest, step * prime, roots);
  }
  Numbers sums(static_cast<std::size_t>(prime));
  for (Size k = 0; k < rest; ++k) {
    for (Size q = 0; q < prime; ++q) {
      std::complex<double> sum = to[k];
      for (Size i = 1; i < prime; ++i) {
        const Size place = i * (k + q * rest) % count * (whole / count);
        sum += to[k + i * rest] * roots[static_cast<std::size_t>(place)];
      }
      sums[static_cast<std::size_t>(q)] = sum;
    }
    for (Size q = 0; q < prime; ++q) to[k + q * rest] = sums[static_cast<std::size_t>(q)];
  }
}

std::optional<std::vector<Size>> even_factors(Size n, Size longest, int count) {
  if (count == 1) {
    if (n > longest) return std::nullopt;
    return std::vector<Size>{n};
  }
  for (Size first = 2; first <= longest; ++first) {
    if (n % first != 0) continue;
    if (auto rest = even_factors(n / first, std::min(first, longest), count - 1)) {
      rest->insert(rest->begin(), first);
      return rest;
    }
  }
  return std::nullopt;
}

}  // namespace

std::complex<double> root(Size place, Size n) {
  // Of angles below an eighth of the circle, where sine and cosine are exact; n is below 2^58.
  const Size eighths = 8 * (place % n);
  const Size octant = eighths / n, rest = eighths % n;
  const bool from_end = octant % 2 != 0;
  const double angle = std::numbers::pi / 4 * static_cast<double>(from_end ? n - rest : rest) /
                       static_cast<double>(n);
  double x = std::cos(angle), y = std::sin(angle);
  // From the eighth to the half of a quarter, and from there to the quarter.
  if (from_end) std::swap(x, y);
  switch (octant / 2) {
    case 0:
      return {x, -y};
    case 1:
      return {-y, -x};
    case 2:
      return {-x, y};
    default:
      return {y, x};
  }
}

Numbers roots(Size n) {
  Numbers all(static_cast<std::size_t>(n));
  for (Size i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = root(i, n);
  return all;
}

Numbers turns(Size n) {
  const Size step = fft_turn_step(n);
  Numbers all;
  all.reserve(static_cast<std::size_t>(fft_turns_size(n)));
  for (Size i = 0; i < step; ++i) all.push_back(root(i, n));
  for (Size i = 0; i < n; i += step) all.push_back(root(i, n));
  return all;
}

Numbers chirp(Size n) {
  Numbers all;
  all.reserve(static_cast<std::size_t>(n));
  // j * j modulo 2 n, by its differences.
  Size square = 0;
  for (Size j = 0; j < n; ++j) {
    all.push_back(root(square, 2 * n));
    square = (square + 2 * j + 1) % (2 * n);
  }
  return all;
}

Numbers chirp_answer(Size n, Size longer) {
  Numbers wrapped(static_cast<std::size_t>(longer));
  const Numbers all = chirp(n);
  for (Size j = 0; j < n; ++j) {
    const std::complex<double> one = std::conj(all[static_cast<std::size_t>(j)]);
    wrapped[static_cast<std::size_t>(j)] = one;
    if (j > 0) wrapped[static_cast<std::size_t>(longer - j)] = one;
  }
  Numbers answer(wrapped.size());
  transform_every(wrapped.data(), answer.data(), longer, 1, roots(longer));
  for (std::complex<double>& one : answer) one /= static_cast<double>(longer);
  return answer;
}

Size without(Size n, std::span<const Size> primes) {
  for (const Size prime : primes) {
    while (n % prime == 0) n /= prime;
  }
  return n;
}

std::vector<Size> steps(Size n, Size longest) {
  for (int count = 1;; ++count) {
    if (auto found = even_factors(n, longest, count)) return *found;
  }
}

}  // namespace tilewright::fft_tables
