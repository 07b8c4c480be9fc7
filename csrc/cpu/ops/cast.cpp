#include <algorithm>
#include <array>
#include <cstdint>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

void to_float32(const std::int32_t* from, float* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

/// The integers that float32 rounds are past float16's range: nothing is rounded twice.
void to_float16(const std::int32_t* from, Half* to, std::size_t n) {
  std::array<float, 1024> wide;
  for (std::size_t i = 0; i < n; i += wide.size()) {
    const std::size_t count = std::min(wide.size(), n - i);
    to_float32(from + i, wide.data(), count);
    kernels_for<float>().to_float16(wide.data(), to + i, count, Store::cached);
  }
}

}  // namespace

void CpuBackend::do_cast(const CastRequest& r) {
  const auto n = static_cast<std::size_t>(r.n);
  if (r.from == DType::int32) {
    const auto* input = data<std::int32_t>(r.input);
    parallel_for(n, element_grain, [&](std::size_t begin, std::size_t end) {
      if (r.to == DType::float16) {
        to_float16(input + begin, data<Half>(r.output) + begin, end - begin);
      } else {
        to_float32(input + begin, data<float>(r.output) + begin, end - begin);
      }
    });
    return;
  }
  const Store how = store_for(n * size_of(r.to), false);
  with_element_type(r.from, [&]<class From>(From) {
    const From* input = data<From>(r.input);
    parallel_for(n, element_grain, [&](std::size_t begin, std::size_t end) {
      const From* from = input + begin;
      if (r.to == DType::float16) {
        kernels_for<From>().to_float16(from, data<Half>(r.output) + begin, end - begin, how);
      } else {
        kernels_for<From>().to_float32(from, data<float>(r.output) + begin, end - begin, how);
      }
    });
  });
}

}  // namespace tilewright::cpu
