#include "core/ops/fft_real.hpp"

#include <cstddef>

#include "cpu/backend.hpp"
#include "cpu/ops/fft_long.hpp"

namespace tilewright::cpu {

namespace {

template <class T>
void transform(MemoryPool& pool, const FftRealRequest& r) {
  const auto n = static_cast<std::size_t>(r.n), rows = static_cast<std::size_t>(r.rows);
  const auto scale = static_cast<T>(r.scale);
  const bool is_even = n % 2 == 0;
  const std::size_t width = fft_width<T>();
  const FftLength<T> length(data<T>(r.roots), is_even ? n / 2 : n, is_even ? 2 : 1);
  if (by_parts<T>(rows, length)) {
    LongRows<T>(pool,
                {.input = data<T>(r.input),
                 .output = data<T>(r.output),
                 .rows = rows,
                 .scale = scale,
                 .inverse = r.inverse,
                 .kind = is_even ? FftRowKind::even_real : FftRowKind::odd_real},
                length)
        .run();
    return;
  }
  const FftRealRows<T> of{.input = data<T>(r.input),
                          .output = data<T>(r.output),
                          .rows = rows,
                          .n = n,
                          .convolution = length.convolution(),
                          .radices = length.radices().values.data(),
                          .passes = length.radices().count,
                          .roots = length.roots(),
                          .scale = scale,
                          .inverse = r.inverse};
  const std::size_t blocks = (rows + width - 1) / width;
  const std::size_t pieces = fft_pieces(blocks, length.n() * width);
  const std::size_t scratch = fft_real_scratch(n, length.longer(), width);
  OpScratch all(pool, "fft_real", floats_for<T>(scratch), pieces);
  in_pieces<T>(all, blocks, pieces, scratch, [&](std::size_t begin, std::size_t end, T* memory) {
    fft_kernels<T>().transform_real(of, begin, end, memory);
  });
}

}  // namespace

void CpuBackend::do_fft_real(const FftRealRequest& r) {
  r.dtype == DType::float64 ? transform<double>(*memory_, r) : transform<float>(*memory_, r);
}

}  // namespace tilewright::cpu
