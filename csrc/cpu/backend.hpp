#pragma once

#include <memory>
#include <vector>

#include "cpu/memory.hpp"
#include "tilewright/backend.hpp"

namespace tilewright::cpu {

/// The one device of this backend, this machine's processor.
DeviceInfo describe_processor();

/// The trait on the processor. Ops are done when they return. Each op is in the file of its name.
class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(Config config);
  ~CpuBackend() override;

 private:
  void do_init() override;
  void do_close() noexcept override;
  DeviceInfo do_device() const override;
  Capabilities do_capabilities() const override;
  PerformanceHints do_performance_hints() const override;
  void do_synchronize() override;

  std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) override;
  std::uint64_t do_max_buffer_bytes() const override;
  std::uint64_t do_memory_limit() const override;
  std::uint64_t do_cached_bytes() const override;
  std::uint64_t do_cache_limit() const override;
  void do_trim() override;
  void do_copy_htod(Allocation& dst, std::span<const std::byte> src, std::uint64_t offset) override;
  void do_copy_dtoh(std::span<std::byte> dst, Allocation& src, std::uint64_t offset) override;
  void do_copy_dtod(Allocation& dst, Allocation& src, std::uint64_t bytes, std::uint64_t dst_offset,
                    std::uint64_t src_offset) override;
  std::byte* do_host_memory(Allocation& allocation) const override;

  void do_gemm(const GemmRequest& request) override;
  void do_matmul_vec(const MatmulVecRequest& request) override;
  void do_conv2d_forward(const Conv2dRequest& request) override;
  void do_conv2d_backward_data(const Conv2dRequest& request) override;
  void do_conv2d_backward_filter(const Conv2dRequest& request) override;
  void do_attention(const AttentionRequest& request) override;
  void do_attention_scores(const AttentionScoresRequest& request) override;
  void do_weighted_sum(const WeightedSumRequest& request) override;

  void do_softmax(const SoftmaxRequest& request) override;
  void do_rmsnorm(const NormRequest& request) override;
  void do_layer_norm(const NormRequest& request) override;
  void do_rope(const RopeRequest& request) override;
  void do_gather(const GatherRequest& request) override;
  void do_scatter(const ScatterRequest& request) override;
  void do_unary(const UnaryRequest& request) override;
  void do_binary(const BinaryRequest& request) override;
  void do_reduce(const ReduceRequest& request) override;
  void do_cast(const CastRequest& request) override;

  std::shared_ptr<MemoryPool> memory_;
  DeviceInfo device_;
};

}  // namespace tilewright::cpu
