#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/kernels/table.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {
constexpr std::size_t grain = 1 << 15;
}

void CpuBackend::do_unary(const UnaryRequest& r) {
  const auto* input = data<float>(r.input);
  auto* output = data<float>(r.output);
  parallel_for(static_cast<std::size_t>(r.n), grain, [&](std::size_t begin, std::size_t end) {
    kernels().unary(r.op, input + begin, output + begin, end - begin);
  });
}

}  // namespace tilewright::cpu
