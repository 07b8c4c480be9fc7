#include "core/ops/rope.hpp"

#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

void CpuBackend::do_rope(const RopeRequest& r) {
  with_element_type(r.dtype, [&]<class T>(T) {
    const auto dim = static_cast<std::size_t>(r.head_dim), half = dim / 2;
    const auto seq = static_cast<std::size_t>(r.seq);
    const auto position = static_cast<std::size_t>(r.position);
    const T* cos = data<T>(r.cos) + position * half;
    const T* sin = data<T>(r.sin) + position * half;
    const T* x = data<T>(r.x);
    T* output = data<T>(r.output);
    const std::size_t rows = static_cast<std::size_t>(r.rows) * seq;
    parallel_for(rows, element_grain / dim + 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const std::size_t angles = row % seq * half;
        kernels_for<T>().rotate(x + row * dim, cos + angles, sin + angles, half,
                                output + row * dim);
      }
    });
  });
}

}  // namespace tilewright::cpu
