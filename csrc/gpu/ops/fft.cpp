#include "core/ops/fft.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <string>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

/// Of SPIR-V: the work-items of a workgroup, each of which has one butterfly in a pass, and for how
/// many numbers there is memory. WGSL is made for what there is.
constexpr Size spirv_group = 256;
constexpr std::array<Size, 2> spirv_sizes{1089, 2178};
constexpr Size bytes_of_number = 8;
/// What the lines of a workgroup have together where there are enough of them.
constexpr Size wanted_numbers = 1024;
/// Neighbouring lines that are read together, so that memory accesses are not in vain; of long ones
/// less memory for a workgroup, and so more of these at a time, is worth more.
constexpr Size lines_of_access(Size n) { return n <= 256 ? 8 : 4; }
constexpr Size most_lines = 256;

/// With what keeps a line's numbers in different banks.
constexpr Size pitch(Size n) { return (n + n / 16) | 1; }

/// The longest line that so many numbers have room for.
constexpr Size longest(Size numbers) {
  Size n = numbers;
  while (n > 0 && pitch(n) > numbers) --n;
  return n;
}

/// The passes of a length, the longest first.
class Radices {
 public:
  /// Of rows, whose numbers lie side by side, more than one pass, so that neighbours are read, and
  /// written, by work-items side by side. `of_any`: of a kernel for all radices, which does without
  /// the long ones.
  Radices(Size n, bool is_row, bool of_any) {
    int twos = std::countr_zero(static_cast<std::uint64_t>(n));
    Size rest = n >> twos;
    for (const Size odd : {Size{9}, Size{13}, Size{11}, Size{7}, Size{5}, Size{3}}) {
      if (odd == 9 && of_any) continue;
      for (; rest % odd == 0; rest /= odd) add(odd);
    }
    // As few as radix 16 allows, or 8, as even as they can be.
    const int most_bits = of_any ? 3 : 4;
    for (int left = (twos + most_bits - 1) / most_bits; left > 0; --left) {
      const int bits = (twos + left - 1) / left;
      add(Size{1} << bits);
      twos -= bits;
    }
    std::sort(all_.begin(), all_.begin() + count_, std::greater<>());
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
  /// Lengths of more factors are longer than any workgroup holds.
  void add(Size radix) {
    if (count_ < std::ptrdiff_t{room}) all_[static_cast<std::size_t>(count_++)] = radix;
  }

  std::array<Size, room> all_{1, 1, 1, 1, 1, 1, 1, 1};
  std::ptrdiff_t count_ = 0;
};

}  // namespace

void GpuBackend::launch_fft(const FftRequest& r) {
  constexpr std::string_view op = "fft";
  if (r.dtype != DType::float32) {
    throw Unsupported(text(op, ": ", name(), " transforms float32, not ", to_string(r.dtype),
                           "; cast it, or use the cpu backend"));
  }
  const bool is_wgsl = device_->language() == KernelLanguage::wgsl;
  const Size width = r.middle * r.inner, lines = r.outer * width;
  const bool from_lines = width > 1, to_lines = r.inner > 1;
  const Radices radices(r.n, width == 1, !is_wgsl);
  // Kernels hold 32 numbers a work-item at most.
  Size room = std::min(Size{device_->limits().local_memory_bytes} / bytes_of_number, Size{4353});
  Size most = longest(room);
  if (!is_wgsl) {
    room = std::min(room / 2, spirv_sizes.back());  // passes write to a second half
    most = std::min(longest(room), spirv_group * radices.least());
  }
  if (r.n > most) {
    throw Unsupported(text(op, ": n is ", r.n, ", and the workgroups of ", device_->info().name,
                           " hold ", most, "; split it into shorter ones with turns"));
  }
  const Size least = from_lines || to_lines ? lines_of_access(r.n) : 1;
  Size together =
      std::min({std::max(wanted_numbers / r.n, least), room / pitch(r.n), lines, most_lines});
  if (!is_wgsl) together = std::min(together, spirv_group * radices.least() / r.n);
  // As little memory as will do, so that more workgroups run at a time.
  Size size = together * pitch(r.n), group = spirv_group;
  if (is_wgsl) {
    const Size each = r.n > 16 && radices.most() > 5 ? 8 : 4;
    const auto items = static_cast<std::size_t>((together * r.n + each - 1) / each);
    group = std::clamp(static_cast<Size>(std::bit_ceil(items)), Size{64}, Size{256});
  } else {
    size = *std::ranges::find_if(spirv_sizes, [&](Size one) { return size <= one; });
  }
  const bool several = together * r.n > group * radices.least();
  const bool turned = static_cast<bool>(r.turns);
  const struct {
    std::uint32_t lines, width, inner, middle, step_bits;
    float sign, scale;
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
      static_cast<float>(r.scale),
      u32(r.n),
      u32(together),
      u32(radices.count()),
      from_lines ? 1u : 0u,
      to_lines ? 1u : 0u,
      turned ? 1u : 0u,
      radices.all()};
  const std::uint64_t bytes = bytes_of(2 * r.n * lines, r.dtype);
  const Binding roots = bind(op, r.roots, bytes_of(2 * r.n, r.dtype));
  const std::array<Binding, 4> bindings{bind(op, r.input, bytes), roots,
                                        turned ? bind(op, r.turns, r.turns.bytes) : roots,
                                        bind(op, r.output, bytes)};
  const std::uint32_t form = ((u32(r.n) * 512 + u32(together)) * 2 + (from_lines ? 1 : 0)) * 4 +
                             (to_lines ? 2 : 0) + (turned ? 1 : 0);
  // In SPIR-V one kernel is for all lengths.
  run(KernelId::fft, is_wgsl ? form : u32(size), params, bindings,
      cover(static_cast<std::uint64_t>(lines), static_cast<std::uint64_t>(together)),
      [&](TemplateVariables& v) {
        v["GROUP"] = std::int64_t{group};
        v["SIZE"] = std::int64_t{size};
        v["N"] = std::int64_t{r.n};
        v["LINES"] = std::int64_t{together};
        v["APART"] = std::int64_t{0};
        v["SEVERAL"] = std::int64_t{several};
        v["PASSES"] = std::int64_t{radices.count()};
        for (std::size_t i = 0; i < Radices::room; ++i) {
          v["R" + std::to_string(i)] = std::int64_t{radices[i]};
        }
        v["FROM_LINES"] = std::int64_t{from_lines};
        v["TO_LINES"] = std::int64_t{to_lines};
        v["TURNED"] = std::int64_t{turned};
      });
}

}  // namespace tilewright::gpu
