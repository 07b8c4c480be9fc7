#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

void CpuBackend::do_cast(const CastRequest& r) {
  const auto n = static_cast<std::size_t>(r.n);
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
