#pragma once

#include <complex>
#include <span>
#include <vector>

#include "tilewright/types.hpp"

// The tables of Fourier transforms, computed in float64.
namespace tilewright::fft_tables {

using Numbers = std::vector<std::complex<double>>;

/// What of a length is transformed as a convolution with a chirp (Bluestein's) rather than in
/// passes, and by transforms of which length.
struct Convolution {
  Size n = 0;       ///< 0: nothing of it
  Size longer = 0;  ///< of the factors 2, 3, 5 and 7

  /// Numbers of its tables: n of the chirp, and `longer` of chirp_answer() and of roots.
  Size numbers() const { return n + 2 * longer; }
};
/// Lengths of the factors up to longest_prime_pass have none.
inline constexpr Size longest_prime_pass = 97;
Convolution convolution_of(Size n);
/// How many numbers roots(n, real) are.
Size roots_size(Size n, bool real);

/// exp(-2 pi i place / n), right to the last bit or the one before it.
std::complex<double> root(Size place, Size n);
/// The n of them.
Numbers roots(Size n);
/// Those of Backend::fft, or of fft_real: behind the n roots what of the length is convolved with,
/// the chirp, chirp_answer() and the roots of its length.
Numbers roots(Size n, bool real);
/// The turns of Backend::fft, of transforms that are n long in all.
Numbers turns(Size n);
/// exp(-pi i j j / n), n of them.
Numbers chirp(Size n);
/// By what the transform of a row of n numbers times the chirp, filled up to `longer` with zeros,
/// is multiplied, so that what comes back of it is the row's own transform but for a factor of the
/// chirp. Of `longer` the factors must be small.
Numbers chirp_answer(Size n, Size longer);

/// What is left of n without the factors 2, 3, 5 and so on.
Size without(Size n, std::span<const Size> primes);
/// Factors of n that are not above `longest`, as few as can be and as even as they can be; n must
/// have no prime factor above it.
std::vector<Size> steps(Size n, Size longest);

}  // namespace tilewright::fft_tables
