#include "core/fft_tables.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <utility>

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
      const Size turn = (k + q * rest) * (whole / count);
      Size place = 0;
      for (Size i = 1; i < prime; ++i) {
        place += turn;
        if (place >= whole) place -= whole;
        const std::complex<double> x = to[k + i * rest];
        const std::complex<double> root = roots[static_cast<std::size_t>(place)];
        // By parts: the product of the library looks for infinities.
        sum += std::complex<double>(x.real() * root.real() - x.imag() * root.imag(),
                                    x.real() * root.imag() + x.imag() * root.real());
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

/// What passes over a number cost, those of radix 8 as long as it takes to read and write it.
double passes(Size n) {
  double cost = 0;
  const int twos = std::countr_zero(static_cast<std::uint64_t>(n));
  cost += twos / 3 + (twos % 3 == 0 ? 0 : 0.5 + 0.2 * (twos % 3));
  n >>= twos;
  constexpr std::array<std::pair<Size, double>, 4> odd{{{9, 1.3}, {7, 1.4}, {5, 1.1}, {3, 0.9}}};
  for (const auto& [radix, each] : odd) {
    for (; n % radix == 0; n /= radix) cost += each;
  }
  return cost;
}

/// The cheapest length of the factors 2, 3, 5 and 7 from `least` on.
Size convolution_length(Size least) {
  Size best = static_cast<Size>(std::bit_ceil(static_cast<std::uint64_t>(least)));
  const Size most = best;
  double lowest = static_cast<double>(best) * (1 + passes(best));
  for (Size sevens = 1; sevens < most; sevens *= 7) {
    for (Size fives = sevens; fives < most; fives *= 5) {
      for (Size threes = fives; threes < most; threes *= 3) {
        const auto times = static_cast<std::uint64_t>((least + threes - 1) / threes);
        const Size one = threes * static_cast<Size>(std::bit_ceil(times));
        if (static_cast<double>(one) >= lowest) continue;
        const double cost = static_cast<double>(one) * (1 + passes(one));
        if (cost < lowest) {
          best = one;
          lowest = cost;
        }
      }
    }
  }
  return best;
}

}  // namespace

Convolution convolution_of(Size n) {
  // No buffer holds the roots of more.
  constexpr Size most = Size{1} << 45;
  Size rest = n < most ? n : 1;
  for (Size prime = 2; prime <= longest_prime_pass && rest > 1; ++prime) {
    while (rest % prime == 0) rest /= prime;
  }
  if (rest == 1) return {};
  // Of what is left alone where there are as many of these as vectors hold, and a cache holds them.
  constexpr Size vector = 16, longest = 4096;
  if (n / rest < vector || rest > longest) rest = n;
  return {rest, convolution_length(2 * rest - 1)};
}

Size roots_size(Size n, bool real) {
  return n + convolution_of(real && n % 2 == 0 ? n / 2 : n).numbers();
}

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

Numbers roots(Size n, bool real) {
  Numbers all = roots(n);
  const Convolution part = convolution_of(real && n % 2 == 0 ? n / 2 : n);
  if (part.n == 0) return all;
  for (const Numbers& table :
       {chirp(part.n), chirp_answer(part.n, part.longer), roots(part.longer)}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
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
