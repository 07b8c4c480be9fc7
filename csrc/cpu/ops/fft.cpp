#include "core/ops/fft.hpp"

#include <bit>
#include <cstddef>

#include "cpu/backend.hpp"
#include "cpu/ops/fft_long.hpp"

namespace tilewright::cpu {

namespace {

template <class T>
void transform(MemoryPool& pool, const FftRequest& r) {
  const auto n = static_cast<std::size_t>(r.n), outer = static_cast<std::size_t>(r.outer);
  const auto middle = static_cast<std::size_t>(r.middle), inner = static_cast<std::size_t>(r.inner);
  const std::size_t width = fft_width<T>();
  const FftLength<T> length(data<T>(r.roots), n, 1);
  if (middle * inner == 1 && by_parts<T>(outer, length)) {
    LongRows<T>(pool,
                {.input = data<T>(r.input),
                 .output = data<T>(r.output),
                 .rows = outer,
                 .scale = static_cast<T>(r.scale),
                 .inverse = r.inverse,
                 .kind = FftRowKind::complex},
                length)
        .run();
    return;
  }
  FftLines<T> lines{};
  lines.input = data<T>(r.input);
  lines.output = data<T>(r.output);
  lines.n = n;
  lines.input_step = middle * inner;
  lines.output_step = inner;
  lines.lines = outer * middle * inner;
  const std::size_t whole = n * middle * inner;
  // Runs of lines as long as they can be.
  if (inner > 1 && middle > 1) {
    lines.ny = middle;
    lines.nz = inner;
    lines.input_at = {.x = whole, .y = inner, .z = 1};
    lines.output_at = {.x = whole, .y = n * inner, .z = 1};
    lines.turn_at = {.x = 0, .y = 1, .z = 0};
  } else if (inner > 1 || middle > 1) {
    lines.ny = outer;
    lines.nz = middle * inner;
    lines.input_at = {.x = 0, .y = whole, .z = 1};
    lines.output_at = {.x = 0, .y = whole, .z = inner > 1 ? 1 : n};
    lines.turn_at = {.x = 0, .y = 0, .z = 1};
  } else {
    lines.ny = 1;
    lines.nz = outer;
    lines.input_at = lines.output_at = {.x = 0, .y = 0, .z = n};
  }
  lines.across = lines.nz % width != 0 && lines.nz < 4 * width;
  lines.convolution = length.convolution();
  lines.radices = length.radices().values.data();
  lines.passes = length.radices().count;
  lines.roots = length.roots();
  lines.root_step = 1;
  lines.scale = static_cast<T>(r.scale);
  lines.inverse = r.inverse;
  if (r.turn_step != 0 && middle > 1) {
    lines.turns = data<T>(r.turns);
    lines.turn_shift =
        static_cast<unsigned>(std::countr_zero(static_cast<std::size_t>(r.turn_step)));
  }
  const LineBlocks<T> of(lines);
  OpScratch all(pool, "fft", floats_for<T>(of.scratch), of.pieces);
  run_lines(all, of, lines);
}

}  // namespace

void CpuBackend::do_fft(const FftRequest& r) {
  r.dtype == DType::float64 ? transform<double>(*memory_, r) : transform<float>(*memory_, r);
}

}  // namespace tilewright::cpu
