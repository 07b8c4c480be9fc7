#include "core/requests.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

// What a backend does with an op that it does not provide.
namespace tilewright {

namespace {
[[noreturn]] void lacks(std::string_view backend, std::string_view op) {
  throw Unsupported(text(op, ": the ", backend, " backend does not have this op"));
}
}  // namespace

std::byte* Backend::do_host_memory(Allocation&) const { return nullptr; }

void Backend::do_gemm(const GemmRequest& request) { lacks(name_, request.op); }
void Backend::do_matmul_vec(const MatmulVecRequest&) { lacks(name_, "matmul_vec"); }
void Backend::do_conv2d_forward(const Conv2dRequest&) { lacks(name_, "conv2d_forward"); }
void Backend::do_conv2d_backward_data(const Conv2dRequest&) {
  lacks(name_, "conv2d_backward_data");
}
void Backend::do_conv2d_backward_filter(const Conv2dRequest&) {
  lacks(name_, "conv2d_backward_filter");
}
void Backend::do_attention(const AttentionRequest&) { lacks(name_, "attention"); }
void Backend::do_attention_scores(const AttentionScoresRequest&) {
  lacks(name_, "attention_scores");
}
void Backend::do_weighted_sum(const WeightedSumRequest&) { lacks(name_, "weighted_sum"); }
void Backend::do_softmax(const SoftmaxRequest&) { lacks(name_, "softmax"); }
void Backend::do_rmsnorm(const NormRequest&) { lacks(name_, "rmsnorm"); }
void Backend::do_layer_norm(const NormRequest&) { lacks(name_, "layer_norm"); }
void Backend::do_rope(const RopeRequest&) { lacks(name_, "rope"); }
void Backend::do_gather(const GatherRequest&) { lacks(name_, "gather"); }
void Backend::do_scatter(const ScatterRequest&) { lacks(name_, "scatter"); }
void Backend::do_unary(const UnaryRequest&) { lacks(name_, "unary"); }
void Backend::do_binary(const BinaryRequest&) { lacks(name_, "binary"); }
void Backend::do_reduce(const ReduceRequest&) { lacks(name_, "reduce"); }
void Backend::do_cast(const CastRequest&) { lacks(name_, "cast"); }

std::shared_ptr<CompiledKernel> Backend::do_create_kernel(const KernelSource&) {
  throw Unsupported(text("create_kernel: the ", name_,
                         " backend takes no kernels of one's own; use a GPU backend"));
}
void Backend::do_launch_kernel(const LaunchRequest&) { lacks(name_, "launch_kernel"); }
void Backend::do_begin_profile() {
  throw Unsupported(text("begin_profile: the ", name_,
                         " backend launches no kernels that a device could time (timestamps); use "
                         "a GPU backend"));
}
Profile Backend::do_end_profile() { lacks(name_, "end_profile"); }

}  // namespace tilewright
