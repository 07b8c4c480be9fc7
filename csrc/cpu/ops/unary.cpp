#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

void CpuBackend::do_unary(const UnaryRequest& r) {
  with_element_type(r.dtype, [&]<class T>(T) {
    const T* input = data<T>(r.input);
    T* output = data<T>(r.output);
    const auto n = static_cast<std::size_t>(r.n);
    const Store how = store_for(n * sizeof(T), input == output);
    parallel_for(n, element_grain, [&](std::size_t begin, std::size_t end) {
      kernels_for<T>().unary(r.op, input + begin, output + begin, end - begin, how);
    });
  });
}

}  // namespace tilewright::cpu
