#include "webgpu/timestamps.hpp"

#include <algorithm>
#include <utility>

namespace tilewright::webgpu {

namespace {

constexpr std::uint64_t launch_bytes = 2 * sizeof(std::uint64_t);
constexpr std::uint64_t submission_bytes = Timestamps::most_launches * launch_bytes;
/// Where WebGPU lets resolved times start.
constexpr std::uint64_t alignment = 256;

}  // namespace

Timestamps::Timestamps(const Api& api, WGPUDevice device, WGPUQueue queue)
    // Dawn gives nanoseconds.
    : api_(api), nanoseconds_(api.is_dawn() ? 1 : api.QueueGetTimestampPeriod(queue)) {
  WGPUQuerySetDescriptor descriptor{};
  descriptor.label = view(std::string_view("launch times"));
  descriptor.type = WGPUQueryType_Timestamp;
  descriptor.count = 2 * most_launches;
  queries_ = api_.DeviceCreateQuerySet(device, &descriptor);
}

Timestamps::~Timestamps() { api_.QuerySetRelease(queries_); }

bool Timestamps::needs_buffer() const {
  return open_ == 0 && (results_.empty() || buffer_bytes - results_.back().used < submission_bytes);
}

void Timestamps::add_buffer(std::unique_ptr<gpu::DeviceBuffer> buffer, WGPUBuffer handle) {
  results_.push_back({std::move(buffer), handle});
}

WGPUComputePassEncoder Timestamps::begin_pass(WGPUCommandEncoder encoder, std::string_view kernel,
                                              const std::array<std::uint32_t, 3>& grid) {
  if (open_ == 0)
    submissions_.push_back({launches_.size(), results_.size() - 1, results_.back().used});
  launches_.push_back({std::string(kernel), 0, 0, grid});
  WGPUPassTimestampWrites writes{};
  writes.querySet = queries_;
  writes.beginningOfPassWriteIndex = 2 * open_;
  writes.endOfPassWriteIndex = 2 * open_ + 1;
  ++open_;
  WGPUComputePassDescriptor pass{};
  pass.timestampWrites = &writes;
  return api_.CommandEncoderBeginComputePass(encoder, &pass);
}

void Timestamps::resolve(WGPUCommandEncoder encoder) {
  if (open_ == 0) return;
  Results& results = results_.back();
  api_.CommandEncoderResolveQuerySet(encoder, queries_, 0, 2 * open_, results.handle, results.used);
  results.used += (open_ * launch_bytes + alignment - 1) / alignment * alignment;
  open_ = 0;
}

void Timestamps::forget() {
  if (submissions_.empty()) return;
  launches_.resize(submissions_.back().launch);
  submissions_.pop_back();
  open_ = 0;
}

std::vector<LaunchRecord> Timestamps::with_times(
    const std::vector<std::vector<std::uint64_t>>& ticks) && {
  std::uint64_t zero = 0;
  for (std::size_t i = 0; i < submissions_.size(); ++i) {
    const Place& place = submissions_[i];
    const bool last = i + 1 == submissions_.size();
    const std::size_t end = last ? launches_.size() : submissions_[i + 1].launch;
    const std::uint64_t* pair = ticks[place.results].data() + place.offset / sizeof(std::uint64_t);
    if (i == 0) zero = pair[0];
    const auto in_nanoseconds = [&](std::uint64_t from, std::uint64_t to) {
      return to <= from ? 0
                        : static_cast<std::uint64_t>(static_cast<double>(to - from) * nanoseconds_);
    };
    for (std::size_t launch = place.launch; launch < end; ++launch, pair += 2) {
      launches_[launch].start_ns = in_nanoseconds(zero, pair[0]);
      launches_[launch].duration_ns = in_nanoseconds(pair[0], pair[1]);
    }
  }
  return std::move(launches_);
}

}  // namespace tilewright::webgpu
