#include "core/ops/fft.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <string>

#include "core/ops/fft_real.hpp"
#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

/// Of SPIR-V: the work-items of a workgroup, each of which has one butterfly in a pass, and for how
/// many numbers there is memory, the second size for complex lines of float32 alone. WGSL is made
/// for what there is.
constexpr Size compiled_group = 256;
constexpr std::array<Size, 2> compiled_sizes{1089, 2178};
/// What the lines of a workgroup have together where there are enough of them.
constexpr Size wanted_bytes = 8192;
/// Neighbouring lines that are read together, so that memory accesses are not in vain; of long ones
/// less memory for a workgroup, and so more of these at a time, is worth more.
constexpr Size bytes_of_access(Size n) { return n <= 256 ? 64 : 32; }
constexpr Size most_lines = 256;

/// With what keeps a line's numbers in different banks.
constexpr Size pitch(Size n) { return (n + n / 16) | 1; }

/// The longest line that so many numbers have room for.
constexpr Size longest(Size numbers) {
  Size n = numbers;
  while (n > 0 && pitch(n) > numbers) --n;
  return n;
}

/// Whether passes of sums are for this radix.
constexpr bool is_long_prime(Size radix) { return radix > 16; }

/// The passes of a length, the longest first, but for primes from 17 on in a kernel of one length:
/// those have other passes before and behind them, of radix 1 where the length has none.
class Radices {
 public:
  /// Of rows, whose numbers lie side by side, more than one pass, so that neighbours are read, and
  /// written, by work-items side by side. `of_any`: of a kernel for all radices, which does without
  /// the long ones, as float64 does without that of 16.
  Radices(Size n, bool is_row, bool of_any, bool is_double) {
    int twos = std::countr_zero(static_cast<std::uint64_t>(n));
    Size rest = n >> twos;
    std::ptrdiff_t primes = 0;
    for (Size prime = fft_tables::longest_prime_pass; is_long_prime(prime); --prime) {
      while (is_prime(prime) && rest % prime == 0) {
        rest /= prime;
        add(prime);
        ++primes;
      }
    }
    for (const Size odd : {Size{9}, Size{13}, Size{11}, Size{7}, Size{5}, Size{3}}) {
      if (odd == 9 && of_any) continue;
      for (; rest % odd == 0; rest /= odd) add(odd);
    }
    // As few as radix 16 allows, or 8, as even as they can be.
    const int most_bits = of_any || is_double ? 3 : 4;
    for (int left = (twos + most_bits - 1) / most_bits; left > 0; --left) {
      const int bits = (twos + left - 1) / left;
      add(Size{1} << bits);
      twos -= bits;
    }
    std::sort(all_.begin(), all_.begin() + count_, std::greater<>());
    if (primes > 0 && !of_any) {
      put_around(primes);
      return;
    }
    if (count_ == 1 && is_row) {
      all_[1] = all_[0];
      all_[0] = 1;
      count_ = 3;
    }
    if (count_ == 0) count_ = 1;
  }
  Size count() const { return count_; }
  Size least() const { return *std::min_element(all_.begin(), all_.begin() + count_); }
  Size most() const { return *std::max_element(all_.begin(), all_.begin() + count_); }
  /// 1 behind the last one.
  Size operator[](std::size_t i) const { return all_[i]; }
  static constexpr std::size_t room = 8;
  std::array<std::uint32_t, room> all() const {
    std::array<std::uint32_t, room> words;
    std::ranges::transform(all_, words.begin(), u32);
    return words;
  }

 private:
  static constexpr bool is_prime(Size n) {
    for (Size factor = 2; factor * factor <= n; ++factor) {
      if (n % factor == 0) return false;
    }
    return true;
  }
  /// The longest of the other passes before the primes, where that leaves one for behind them.
  void put_around(std::ptrdiff_t primes) {
    const std::ptrdiff_t others = count_ - primes;
    const auto begin = all_.begin();
    if (others > 1) {
      std::rotate(begin, begin + primes, begin + primes + 1);
      return;
    }
    count_ = std::min<std::ptrdiff_t>(count_ + (others == 0 ? 2 : 1), room);
    std::rotate(begin, begin + count_ - 1, begin + count_);  // of ones that are behind it
  }

  /// Lengths of more factors are longer than any workgroup holds.
  void add(Size radix) {
    if (count_ < std::ptrdiff_t{room}) all_[static_cast<std::size_t>(count_++)] = radix;
  }

  std::array<Size, room> all_{1, 1, 1, 1, 1, 1, 1, 1};
  std::ptrdiff_t count_ = 0;
};

/// What a launch reads and writes, by the kernel's numbers.
enum class Kind : std::uint8_t {
  complex,
  halves_of_real,
  real_of_halves,
  odd_real,
  real_of_odd,
  convolved  ///< of a kernel of its own
};

}  // namespace

/// Transforms of a length, of complex lines or of real rows.
struct GpuBackend::FftLaunch {
  std::string_view op;
  FftRequest of;  ///< for real rows, of n / 2 where that is even, as one line of complex ones each
  std::uint8_t kind;
  std::string_view instead;  ///< of a length that workgroups do not hold
  Size whole;                ///< the length that roots are of
  Size input, output;        ///< elements
  Size held = 0;             ///< numbers of a line that passes go over, where it is convolved
};

void GpuBackend::run_fft(const FftLaunch& launch) {
  const FftRequest& r = launch.of;
  if (!lacking_feature(r.dtype).empty()) {
    throw Unsupported(text(launch.op, ": ", device_->info().name,
                           " has no float64 in kernels; cast to float32, or compute it on the cpu "
                           "backend"));
  }
  const bool is_convolved = launch.held != 0;
  const Size n = is_convolved ? launch.held : r.n;
  if (!has_passes_alone(n)) {
    throw Unsupported(text(launch.op, ": n is ", launch.whole, ", and kernels of ",
                           device_->info().name, " take products of primes up to ",
                           fft_tables::longest_prime_pass,
                           "; fill up to one, or have fft_plan or tw.fft convolve it"));
  }
  // Elsewhere kernels are there for some sizes, and take all lengths up to those.
  const bool for_each_length = device_->limits().compiles_templates;
  const bool is_double = r.dtype == DType::float64;
  const auto bytes_of_number = static_cast<Size>(2 * size_of(r.dtype));
  const Size width = r.middle * r.inner, lines = r.outer * width;
  const bool from_lines = width > 1, to_lines = r.inner > 1;
  const Radices radices(n, width == 1, !for_each_length, is_double);
  // Where real and imaginary parts take turns in the memory, it has room for twice as many numbers.
  // The sums of a prime read both.
  const bool is_split = for_each_length && !is_convolved && has_fft_primes_alone(n);
  const Size bytes_held = is_split ? bytes_of_number / 2 : bytes_of_number;
  // Kernels hold 32 numbers a work-item at most. So much is a line of 8192, or eight of 1024.
  Size room = std::min(Size{device_->limits().local_memory_bytes} / bytes_held,
                       (is_split ? 8 : 4) * pitch(1024));
  Size most = longest(room);
  if (!for_each_length) {
    // Passes write to a second half.
    const Size halved = room / 2;
    room = 0;
    for (const Size size : compiled_sizes) {
      const bool is_compiled = size == compiled_sizes.front() || (!is_double && launch.kind == 0);
      if (size <= halved && is_compiled) room = size;
    }
    most = std::min(longest(room), compiled_group * radices.least());
  }
  if (n > most) {
    throw Unsupported(text(launch.op, ": n is ", launch.whole, ", and the workgroups of ",
                           device_->info().name, " hold ",
                           is_convolved ? (most + 1) / 2 : most * (launch.whole / r.n), "; ",
                           launch.instead));
  }
  const Size least =
      from_lines || to_lines ? std::max(bytes_of_access(n) / bytes_of_number, Size{1}) : 1;
  Size together = std::min(
      {std::max(wanted_bytes / bytes_of_number / n, least), room / pitch(n), lines, most_lines});
  if (!for_each_length) together = std::min(together, compiled_group * radices.least() / n);
  // As little memory as will do, so that more workgroups run at a time.
  Size size = together * pitch(n), group = compiled_group;
  if (for_each_length) {
    const Size each = n > 16 && radices.most() > 5 ? 8 : 4;
    const auto items = static_cast<std::size_t>((together * n + each - 1) / each);
    const Size largest = std::min<Size>(n > 4096 ? 512 : 256, device_->limits().max_group_size);
    group = std::clamp(static_cast<Size>(std::bit_ceil(items)), Size{64}, largest);
  } else {
    size = *std::ranges::find_if(compiled_sizes, [&](Size one) { return size <= one; });
  }
  const bool several = together * n > group * radices.least();
  const bool turned = static_cast<bool>(r.turns);
  const auto scale = is_double ? std::bit_cast<std::uint64_t>(r.scale)
                               : std::bit_cast<std::uint32_t>(static_cast<float>(r.scale));
  const struct {
    std::uint32_t lines, width, inner, middle, step_bits;
    float sign;
    std::uint32_t scale, scale_high;
    std::uint32_t n, together, passes, from_lines, to_lines, turned;
    std::array<std::uint32_t, Radices::room> radices;
  } params{
      u32(lines),
      u32(width),
      u32(r.inner),
      u32(r.middle),
      turned ? static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint64_t>(r.turn_step)))
             : 0,
      r.inverse ? -1.0f : 1.0f,
      static_cast<std::uint32_t>(scale),
      static_cast<std::uint32_t>(scale >> 32),
      u32(n),
      u32(together),
      u32(radices.count()),
      from_lines ? 1u : 0u,
      to_lines ? 1u : 0u,
      turned ? 1u : 0u,
      radices.all()};
  const Size tables = is_convolved ? fft_tables::convolution_of(r.n).numbers() : 0;
  const Binding roots = bind(launch.op, r.roots, bytes_of(2 * (launch.whole + tables), r.dtype));
  const std::array<Binding, 4> bindings{
      bind(launch.op, r.input, bytes_of(launch.input, r.dtype)), roots,
      turned ? bind(launch.op, r.turns, r.turns.bytes) : roots,
      bind(launch.op, r.output, bytes_of(launch.output, r.dtype))};
  std::uint32_t form = u32(launch.kind) * 2 + (is_double ? 1 : 0);
  if (for_each_length) {
    form = ((form * 8192 + u32(r.n)) * 512 + u32(together)) * 8 + (from_lines ? 4 : 0) +
           (to_lines ? 2 : 0) + (turned ? 1 : 0);
  } else {
    form = form * 4096 + u32(size);  // one kernel is for all lengths
  }
  run(is_convolved ? KernelId::fft_convolved : KernelId::fft, form, params, bindings,
      cover(static_cast<std::uint64_t>(lines), static_cast<std::uint64_t>(together)),
      [&](TemplateVariables& v) {
        v["T"] = std::string(is_double ? "f64" : "f32");
        v["KIND"] = std::int64_t{is_convolved ? 0 : launch.kind};
        if (is_convolved) v["LENGTH"] = std::int64_t{r.n};
        v["GROUP"] = std::int64_t{group};
        v["SIZE"] = std::int64_t{size};
        v["N"] = std::int64_t{n};
        v["LINES"] = std::int64_t{together};
        v["APART"] = std::int64_t{0};
        v["SEVERAL"] = std::int64_t{several};
        v["SPLIT"] = std::int64_t{is_split};
        v["PASSES"] = std::int64_t{radices.count()};
        for (std::size_t i = 0; i < Radices::room; ++i) {
          v[text("R", i)] = std::int64_t{radices[i]};
        }
        v["FROM_LINES"] = std::int64_t{from_lines};
        v["TO_LINES"] = std::int64_t{to_lines};
        v["TURNED"] = std::int64_t{turned};
      });
}

void GpuBackend::launch_fft(const FftRequest& r) {
  const Size elements = 2 * r.outer * r.n * r.middle * r.inner;
  const bool convolves = device_->limits().compiles_templates && !has_passes_alone(r.n) &&
                         fft_tables::convolution_of(r.n).n == r.n;
  run_fft({.op = "fft",
           .of = r,
           .kind = static_cast<std::uint8_t>(convolves ? Kind::convolved : Kind::complex),
           .instead = convolves ? "have fft_plan or tw.fft convolve it"
                                : "split it into shorter ones with turns",
           .whole = r.n,
           .input = elements,
           .output = elements,
           .held = convolves ? fft_tables::convolution_of(r.n).longer : 0});
}

void GpuBackend::launch_fft_real(const FftRealRequest& r) {
  const bool is_even = r.n % 2 == 0;
  const Kind kind = is_even ? (r.inverse ? Kind::real_of_halves : Kind::halves_of_real)
                            : (r.inverse ? Kind::real_of_odd : Kind::odd_real);
  const Size real = r.rows * r.n, halves = 2 * r.rows * (r.n / 2 + 1);
  run_fft({.op = "fft_real",
           .of = {.input = r.input,
                  .roots = r.roots,
                  .output = r.output,
                  .turns = {},
                  .outer = r.rows,
                  .n = is_even ? r.n / 2 : r.n,
                  .middle = 1,
                  .inner = 1,
                  .turn_step = 0,
                  .scale = r.scale,
                  .inverse = r.inverse,
                  .dtype = r.dtype},
           .kind = static_cast<std::uint8_t>(kind),
           .instead = "transform it as complex numbers, by fft",
           .whole = r.n,
           .input = r.inverse ? halves : real,
           .output = r.inverse ? real : halves});
}

}  // namespace tilewright::gpu
