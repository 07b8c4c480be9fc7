#pragma once

#include <memory>
#include <vector>

#include "cpu/memory.hpp"
#include "cpu/ops/moments.hpp"
#include "cpu/program/steps.hpp"
#include "tilewright/backend.hpp"

namespace tilewright::cpu {

/// The one device of this backend, this machine's processor.
DeviceInfo describe_processor();

/// The trait on the processor. Ops are done when they return. Each op is in the file of its name.
class CpuBackend : public Backend {
 public:
  explicit CpuBackend(Config config);
  ~CpuBackend() override;

 protected:
  void do_init() override;
  void do_close() noexcept override;
  DeviceInfo do_device() const override;
  Capabilities do_capabilities() const override;
  PerformanceHints do_performance_hints() const override;
  void do_synchronize() override;

  std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) override;
  std::shared_ptr<Allocation> do_alloc_at_hand(std::uint64_t bytes) override;
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

#define TILEWRIGHT_DO(name, Request) void do_##name(const Request& request) override;
  TILEWRIGHT_OPS(TILEWRIGHT_DO)
#undef TILEWRIGHT_DO

 private:
  void moments(const FoldRequest& request);

  std::shared_ptr<MemoryPool> memory_;
  StepPlans plans_;
  MomentsRewrites rewrites_;
  DeviceInfo device_;
};

}  // namespace tilewright::cpu
