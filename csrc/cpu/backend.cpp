#include "cpu/backend.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/host_memory.hpp"
#include "core/text.hpp"
#include "cpu/kernels/table.hpp"
#include "cpu/openblas.hpp"
#include "cpu/processor.hpp"
#include "cpu/thread_pool.hpp"
#include "tilewright/version.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::size_t copy_grain = 1 << 20;

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  parallel_for(bytes, copy_grain, [&](std::size_t begin, std::size_t end) {
    std::memcpy(to + begin, from + begin, end - begin);
  });
}

std::byte* at(Allocation& allocation, std::uint64_t offset) {
  return static_cast<CpuAllocation&>(allocation).data() + offset;
}

}  // namespace

DeviceInfo describe_processor() {
  DeviceInfo info;
  info.id = "cpu:0";
  info.backend = "cpu";
  info.name = processor_name();
  info.kind = DeviceKind::cpu;
  info.driver = text("tilewright ", TILEWRIGHT_VERSION);
  info.memory_bytes = usable_memory();
  try {
    info.features.emplace_back(to_string(usable_isa()));
    info.features.emplace_back("float16");
    info.limits["threads"] = thread_count();
    info.limits["max_buffer_bytes"] = info.memory_bytes;
    info.available = true;
  } catch (const Error& error) {
    info.reason = error.what();
  }
  return info;
}

CpuBackend::CpuBackend(Config config) : Backend("cpu", std::move(config)) {}

CpuBackend::~CpuBackend() { shut_down(); }

void CpuBackend::do_init() {
  if (this->config().adapter_index.value_or(0) != 0) {
    throw BackendUnavailable(
        text("cpu: adapter_index is ", *this->config().adapter_index, ", but there is only 0"));
  }
  usable_isa();
  thread_count();
  device_ = describe_processor();
  device_.driver += text(", OpenBLAS for ", openblas().core);
  memory_ = std::make_shared<MemoryPool>(
      budget(), config().cache_limit ? static_cast<std::uint64_t>(*config().cache_limit)
                                     : most_cached_in_host_memory());
}

void CpuBackend::do_close() noexcept { memory_.reset(); }

DeviceInfo CpuBackend::do_device() const { return device_; }

Capabilities CpuBackend::do_capabilities() const {
  Capabilities c;
  c.dtypes = {DType::float32, DType::float16};
  for (std::size_t i = 0; i < EnumNames<DType>::values.size(); ++i) {
    c.storage_dtypes.push_back(static_cast<DType>(i));
  }
  c.limits = device_.limits;
  c.features = device_.features;
  c.memory_bytes = device_.memory_bytes;
  c.max_buffer_bytes = do_max_buffer_bytes();
  c.compute_units = static_cast<std::uint32_t>(thread_count());
  return c;
}

PerformanceHints CpuBackend::do_performance_hints() const {
  PerformanceHints h;
  h.simd_width = static_cast<std::uint32_t>(kernels().simd_width);
  h.preferred_alignment = std::max(cache_line_bytes(), h.simd_width * 4);
  h.cache_bytes = last_cache_bytes();
  h.preferred_workgroup_size = 1;
  h.concurrency = static_cast<std::uint32_t>(thread_count());
  return h;
}

void CpuBackend::do_synchronize() {}

std::shared_ptr<Allocation> CpuBackend::do_alloc(std::uint64_t bytes) {
  return memory_->allocate(bytes);
}

std::shared_ptr<Allocation> CpuBackend::do_alloc_at_hand(std::uint64_t bytes) {
  return memory_->at_hand(bytes);
}

std::uint64_t CpuBackend::do_max_buffer_bytes() const { return device_.memory_bytes; }

std::uint64_t CpuBackend::do_memory_limit() const { return device_.memory_bytes; }

std::uint64_t CpuBackend::do_cached_bytes() const { return memory_->cached_bytes(); }

std::uint64_t CpuBackend::do_cache_limit() const { return memory_->cache_limit(); }

void CpuBackend::do_trim() { memory_->trim(); }

std::byte* CpuBackend::do_host_memory(Allocation& allocation) const { return at(allocation, 0); }

void CpuBackend::do_copy_htod(Allocation& dst, std::span<const std::byte> src,
                              std::uint64_t offset) {
  copy_bytes(at(dst, offset), src.data(), src.size());
}

void CpuBackend::do_copy_dtoh(std::span<std::byte> dst, Allocation& src, std::uint64_t offset) {
  copy_bytes(dst.data(), at(src, offset), dst.size());
}

void CpuBackend::do_copy_dtod(Allocation& dst, Allocation& src, std::uint64_t bytes,
                              std::uint64_t dst_offset, std::uint64_t src_offset) {
  copy_bytes(at(dst, dst_offset), at(src, src_offset), bytes);
}

}  // namespace tilewright::cpu
