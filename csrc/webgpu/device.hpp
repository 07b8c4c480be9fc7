#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fork.hpp"
#include "gpu/device.hpp"
#include "gpu/download_queue.hpp"
#include "tilewright/backend.hpp"
#include "webgpu/adapters.hpp"
#include "webgpu/api.hpp"
#include "webgpu/backlog.hpp"
#include "webgpu/bind_groups.hpp"
#include "webgpu/blobs.hpp"
#include "webgpu/encoder_thread.hpp"
#include "webgpu/encoding.hpp"
#include "webgpu/failures.hpp"
#include "webgpu/helper.hpp"
#include "webgpu/layouts.hpp"
#include "webgpu/progress.hpp"
#include "webgpu/staging.hpp"
#include "webgpu/timestamps.hpp"
#include "webgpu/uniforms.hpp"

namespace tilewright::webgpu {

class ComputePipeline;
class PreparedPass;

/// One GPU through one library. Launches gather in one encoder with one compute pass, which goes
/// out at a read, at wait(), or when enough has gathered: early when the GPU is idle. From the
/// first time that enough has, a thread encodes and submits what calls launch; they take the
/// encoder back for all else.
class Device final : public gpu::Device {
 public:
  Device(const Adapter& adapter, const Config& config, gpu::DeviceUse use);
  ~Device() override;

  DeviceInfo info() const override { return info_; }
  const gpu::DeviceLimits& limits() const override { return limits_; }
  gpu::KernelLanguage language() const override { return gpu::KernelLanguage::wgsl; }
  std::uint32_t subgroup_size() override;

  std::unique_ptr<gpu::DeviceBuffer> create_buffer(std::uint64_t bytes) override;
  std::unique_ptr<gpu::Pipeline> create_pipeline(const gpu::KernelDescription& kernel) override;
  void launch(const gpu::Launch& launch) override;
  void upload(gpu::DeviceBuffer& dst, std::uint64_t offset,
              std::span<const std::byte> src) override;
  void download(std::span<std::byte> dst, gpu::DeviceBuffer& src, std::uint64_t offset) override;
  void copy(gpu::DeviceBuffer& dst, std::uint64_t dst_offset, gpu::DeviceBuffer& src,
            std::uint64_t src_offset, std::uint64_t bytes) override;
  std::uint64_t start_download(HostRead read, gpu::DeviceBuffer& src,
                               std::uint64_t offset) override;
  std::unique_ptr<gpu::PreparedCommands> prepare(const gpu::CommandList& commands) override;
  void replay(const gpu::CommandList& commands, gpu::PreparedCommands* prepared) override;
  void wait() override;
  std::uint64_t mark() override;
  bool reach(std::uint64_t place, std::chrono::steady_clock::time_point deadline) override;
  void flush() override;
  void begin_timing() override;
  std::vector<LaunchRecord> end_timing() override;

 private:
  friend class Buffer;
  friend class ComputePipeline;
  friend class PreparedPass;

  class Turn;
  using Clock = std::chrono::steady_clock;
  using DownloadBlocks = gpu::DownloadQueue<std::unique_ptr<Staging>>;
  /// A submission that the library refused, by its place.
  struct Refusal {
    std::uint64_t place;
    std::string message;
  };

  void open(const Adapter& adapter, gpu::DeviceUse use);
  void open_dawn(const Adapter& adapter);
  WGPUDevice request(WGPUAdapter adapter, gpu::DeviceUse use);
  WGPUBuffer raw_buffer(std::uint64_t bytes, WGPUBufferUsage usage, const char* label);
  std::shared_ptr<const Layout> layout_for(const KernelInfo& info);
  WGPUShaderModule shader_module(const gpu::KernelDescription& kernel, bool in_uniforms);
  void check_fits(const KernelInfo& info) const;
  /// Returns where done() holds, the device is lost or, after one look at least, at the deadline.
  /// Waits without the lock, so that other threads go on queueing.
  void look_until(const std::function<bool()>& done,
                  Clock::time_point deadline = Clock::time_point::max());
  void look_for_loss();
  /// Encodes some of what the next replays will queue; false where nothing is left to do.
  bool encode_ahead();
  void await(const Staging& staging);
  void await_submissions();
  void finish_read(Staging& staging, std::span<std::byte> dst);
  bool look_for(std::uint64_t place, Clock::time_point deadline);
  void fill_downloads();

  // What follows is called with the lock held.
  void check_alive() const {
    if (fork_generation_ != fork_generation() || failures_->lost()) [[unlikely]]
      refuse_use();
  }
  [[noreturn]] void refuse_use() const;
  /// Throws also what went wrong with launches after their calls.
  void check_usable() {
    check_alive();
    if (has_late_failure_.load(std::memory_order_relaxed)) [[unlikely]]
      throw_late_failure();
  }
  [[noreturn]] void throw_late_failure();
  /// What has gathered goes out; where it is much, a thread has that done and goes on with what
  /// calls launch next.
  void pass_on_if_worthwhile();
  void take_encoder_back();

  // What follows is called by whoever has the encoder: a call with the lock held, or the thread.

  void encode_backlog();
  /// Encodes the first of it; what goes wrong is left for the next call.
  void encode_first() noexcept;
  void keep_late_failure() noexcept;
  /// The thread's work.
  void serve() noexcept;
  void begin_timed_pass(const gpu::Launch& launch);
  /// Whether anything waits for the next submission.
  bool gathers() const { return encoding_.is_open() || !closed_.empty(); }
  /// Has the open encoder's commands go out in front of others that are encoded already.
  void close_encoder();
  void submit();
  /// Whether what has gathered is to go out.
  bool is_worthwhile();
  void flush_if_worthwhile() {
    if (is_worthwhile()) submit();
  }
  /// Whether this thread and another one encode so many commands sooner than this one.
  bool shares(std::size_t commands);
  void replay_shared(PreparedPass& pass, std::size_t first);
  std::uint64_t mark_here();
  void note_refusal(std::uint64_t place, std::string message);
  /// Throws what was refused at these places.
  void throw_refusal(std::uint64_t first, std::uint64_t last) const;
  DownloadBlocks::Block& download_room(Turn& turn, std::uint64_t bytes);
  void map_downloads();
  void queue_is_empty();
  void throw_failure(std::string_view during);
  // What the library would find only when all that is queued goes out, and refuse with it.
  void check_bindings(const gpu::Launch& launch) const;
  void check_size(const gpu::Launch& launch) const {
    const auto& [x, y, z] = launch.grid;
    if (launch.params.size() != launch.pipeline->info().params_bytes ||
        std::max(std::max(x, y), z) > limits_.max_groups) [[unlikely]] {
      refuse_size(launch);
    }
  }
  [[noreturn]] void refuse_size(const gpu::Launch& launch) const;
  /// Makes a bind group, once for all launches of a layout on the same bindings.
  const BindGroup& bind(const gpu::Launch& launch);
  Staging& upload_room(Turn& turn, std::uint64_t bytes);
  void start_read(Staging& staging, WGPUBuffer src, std::uint64_t offset, std::uint64_t bytes);

  const Api& api_;
  DeviceInfo info_;
  gpu::DeviceLimits limits_;
  WGPULimits raw_limits_{};
  unsigned fork_generation_;
  const WGPUInstance instance_;
  std::unique_ptr<Blobs> blobs_;  // of Dawn, which asks for them as long as the device is there
  WGPUDevice device_ = nullptr;
  WGPUQueue queue_ = nullptr;

  bool has_subgroups_ = false;
  std::string prelude_;  // what the library wants in front of a kernel's text
  const bool debug_;
  const bool checks_kernels_;          // Dawn's: of all of a device's or of none
  std::uint32_t immediate_bytes_ = 0;  // what kernels may take their parameters in

  mutable std::mutex mutex_;
  std::unique_ptr<Layouts> layouts_;
  std::unique_ptr<BindGroups> bind_groups_;
  std::unique_ptr<Uniforms> uniforms_;      // from the first kernel on whose parameters need them
  std::unique_ptr<Timestamps> timestamps_;  // while launches are timed
  Backlog backlog_;
  std::unique_ptr<EncoderThread> encoder_thread_;  // from the first time that enough has gathered
  bool may_have_encoder_thread_;
  std::atomic<bool> has_late_failure_{false};

  // What follows belongs to whoever has the encoder.
  alignas(64) std::exception_ptr late_failure_;
  Encoding encoding_;
  std::vector<WGPUCommandBuffer> closed_;  // go out in front of its commands
  std::optional<std::string> refused_;     // why what was closed did not become a command buffer
  std::vector<PreparedPass*> replayed_;    // and not encoded for the next time
  std::size_t never_submitted_ = 0;        // of the command buffers that were encoded ahead

  std::unique_ptr<Helper> helper_;  // from the first long replay on that nobody has prepared
  bool may_have_helper_ = true;

  std::uint32_t gathered_work_ = 0;  // what the open encoder may keep the GPU busy with
  std::uint32_t enough_work_ = Encoding::enough_for_idle_gpu;  // so much goes out
  std::uint32_t looks_after_ = 0;  // so many launches more it is looked how long work has gathered
  Clock::time_point looked_;
  Clock::time_point quiet_since_;  // when work last went out, or a wait for everything ended
  std::uint64_t last_submission_ = 0;
  std::uint64_t submissions_ = 0;  // those refused too: their numbers are the places in the queue
  std::uint64_t marked_ = 0;       // up to here places are asked for
  std::deque<Refusal> refusals_;
  std::unique_ptr<Progress> progress_ = std::make_unique<Progress>();

  std::array<Staging, 4> uploads_{{Staging(WGPUMapMode_Write), Staging(WGPUMapMode_Write),
                                   Staging(WGPUMapMode_Write), Staging(WGPUMapMode_Write)}};
  std::size_t upload_turn_ = 0;
  std::uint64_t upload_used_ = 0;  // bytes of the one in turn that the open encoder copies from

  std::mutex download_mutex_;  // one download at a time; taken before mutex_
  std::array<Staging, 4> downloads_{{Staging(WGPUMapMode_Read), Staging(WGPUMapMode_Read),
                                     Staging(WGPUMapMode_Read), Staging(WGPUMapMode_Read)}};

  DownloadBlocks reads_;
  std::vector<DownloadBlocks::Block*> gathering_;  // that the open encoder copies to
  std::mutex filling_mutex_;                       // taken before mutex_

  std::unique_ptr<Failures> failures_ = std::make_unique<Failures>();
};

/// Holds the device's lock and has the encoder, with all that was launched before in it; in a
/// forked child only the lock, where nothing else is done.
class Device::Turn {
 public:
  explicit Turn(Device& device) : device_(device), lock_(device.mutex_) {
    device_.take_encoder_back();
  }
  void lock() {
    lock_.lock();
    device_.take_encoder_back();
  }
  void unlock() { lock_.unlock(); }
  bool owns_lock() const { return lock_.owns_lock(); }

 private:
  Device& device_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace tilewright::webgpu
