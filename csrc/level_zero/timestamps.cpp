#include "level_zero/timestamps.hpp"

#include <utility>

#include "level_zero/results.hpp"

namespace tilewright::level_zero {

namespace {

/// Launches that may be open before their times are looked for.
constexpr std::size_t comfortable_launches = 1024;

std::uint64_t mask_of(std::uint32_t bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

}  // namespace

Timestamps::Timestamps(const Adapter& adapter, ze_context_handle_t context)
    : events_(context, adapter.handle,
              ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP),
      tick_ns_(adapter.tick_ns),
      mask_(mask_of(adapter.properties.kernelTimestampValidBits)) {}

ze_event_handle_t Timestamps::add(const std::string& kernel,
                                  const std::array<std::uint32_t, 3>& grid) {
  if (open_.size() % comfortable_launches == comfortable_launches - 1) collect();
  ze_event_handle_t event = events_.take();
  open_.push_back({{kernel, 0, 0, grid}, event});
  return event;
}

void Timestamps::forget() {
  events_.put_back(open_.back().event);
  open_.pop_back();
}

void Timestamps::collect() {
  while (!open_.empty()) {
    Launch& launch = open_.front();
    ze_kernel_timestamp_result_t times{};
    const ze_result_t result = api().EventQueryKernelTimestamp(launch.event, &times);
    if (result == ZE_RESULT_NOT_READY) return;
    check(result, "zeEventQueryKernelTimestamp");
    const auto in_nanoseconds = [&](std::uint64_t ticks) {
      return static_cast<std::uint64_t>(static_cast<double>(ticks) * tick_ns_);
    };
    // The clock begins again at 0 when its bits are used up.
    const std::uint64_t start = times.global.kernelStart & mask_;
    if (!done_.empty()) ticks_ += (start - last_start_) & mask_;
    last_start_ = start;
    launch.record.start_ns = in_nanoseconds(ticks_);
    launch.record.duration_ns = in_nanoseconds((times.global.kernelEnd - start) & mask_);
    done_.push_back(std::move(launch.record));
    events_.put_back(launch.event);
    open_.pop_front();
  }
}

std::vector<LaunchRecord> Timestamps::records() {
  collect();
  return std::move(done_);
}

}  // namespace tilewright::level_zero
