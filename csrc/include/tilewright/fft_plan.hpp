#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tilewright/backend.hpp"
#include "tilewright/export.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

/// The least length from n on whose factors are 2, 3, 5 and 7: what to fill up to where the length
/// itself does not matter, since every backend transforms such lengths by its kernels alone.
/// InvalidArgument where n is below 1 or above 2^40.
TILEWRIGHT_API Size optimal_fft_size(Size n);

/// The `roots` of Backend::fft, or where `real` of fft_real, for lengths of any factors: exp(-2 pi
/// i j / n), n of them, and behind these the tables of the convolution by which factors above 97
/// are transformed. InvalidArgument where n is below 1 or above 2^40.
TILEWRIGHT_API std::vector<std::complex<double>> fft_roots(Size n, bool real = false);

/// What a plan transforms: complex numbers, or real ones to the first half of their transforms and
/// back.
enum class FftKind : std::uint8_t { complex, real };

template <>
struct EnumNames<FftKind> {
  static constexpr std::string_view kind = "kind";
  static constexpr std::array<std::string_view, 2> values{"complex", "real"};
};

/// Discrete Fourier transforms of any lengths along all axes of a shape, `batch` arrays of it one
/// after another:
///
///   FftPlan plan(backend, std::array<Size, 1>{1009}, 64, FftKind::real);
///   plan.run(signals, spectra);
///   plan.run(spectra, signals, true, 1.0 / 1009);
///
/// - Complex numbers have the real part first. Where arrays are real, their transforms have the
///   first n / 2 + 1 along the last axis, of which the others are the conjugates.
/// - Lengths whose primes are all up to 97 are transformed by Backend::fft and fft_real, in several
///   steps where they are long. So are all others on the cpu backend; on GPUs these are
///   convolutions (Bluestein's), of optimal_fft_size() at least 2 n - 1.
/// - Tables are made once, on the host in float64. A plan keeps them on the device, and its backend
///   alive, until it goes. What run() needs besides it takes and gives back at each call.
/// - An owner, movable. run() may be called from any thread, and while one records; the plan must
///   then outlive the recording.
class TILEWRIGHT_API FftPlan {
 public:
  /// Of nothing: run() throws InvalidArgument.
  FftPlan() noexcept;
  /// 1 to 8 lengths of 1 or more each; dtype is float32, or float64 where the device computes with
  /// it, else Unsupported is thrown.
  FftPlan(std::shared_ptr<Backend> backend, std::span<const Size> shape, Size batch = 1,
          FftKind kind = FftKind::complex, DType dtype = DType::float32);
  ~FftPlan();
  FftPlan(FftPlan&& other) noexcept;
  FftPlan& operator=(FftPlan&& other) noexcept;
  FftPlan(const FftPlan&) = delete;
  FftPlan& operator=(const FftPlan&) = delete;

  explicit operator bool() const noexcept { return data_ != nullptr; }
  const std::shared_ptr<Backend>& backend() const noexcept;
  /// Elements of dtype on the side of the input and on that of the transform; 0 of nothing.
  Size input_size() const noexcept;
  Size transform_size() const noexcept;
  /// Of the tables, on the device.
  Size table_bytes() const noexcept;

  /// Queues the transforms of input, each times `scale`, positive and finite, into output, which
  /// must lie apart from it; with `inverse` those from transform_size() elements to input_size().
  /// Imaginary parts that the transform of a real array does not have are not read.
  void run(Buffer input, Buffer output, bool inverse = false, double scale = 1) const;

 private:
  struct Data;
  std::unique_ptr<const Data> data_;
};

}  // namespace tilewright
