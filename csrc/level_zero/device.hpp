#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/kept_files.hpp"
#include "gpu/device.hpp"
#include "gpu/download_queue.hpp"
#include "level_zero/adapters.hpp"
#include "level_zero/events.hpp"
#include "level_zero/staging.hpp"
#include "level_zero/timestamps.hpp"
#include "tilewright/backend.hpp"

namespace tilewright::level_zero {

class Buffer;
class ClosedList;
class ComputePipeline;

/// One GPU through Level Zero. Work goes to the GPU at once, through one command list that keeps
/// its order.
class Device final : public gpu::Device {
 public:
  Device(const Adapter& adapter, const Config& config);
  ~Device() override;

  DeviceInfo info() const override { return info_; }
  const gpu::DeviceLimits& limits() const override { return limits_; }
  gpu::KernelLanguage language() const override { return gpu::KernelLanguage::spirv; }
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
  /// Everything is on its way.
  void flush() override {}
  void begin_timing() override;
  std::vector<LaunchRecord> end_timing() override;

 private:
  friend class Buffer;
  friend class ClosedList;
  friend class ComputePipeline;

  using Clock = std::chrono::steady_clock;
  using DownloadBlocks = gpu::DownloadQueue<Staging>;
  /// Signalled when the commands up to `place` are done.
  struct Mark {
    std::uint64_t place;
    ze_event_handle_t event;
    int waiters;  // that look at the event without the lock
  };

  /// What is to be let go of once the work up to `last_use` is done.
  struct Retired {
    std::uint64_t last_use;
    void* memory;
    ze_kernel_handle_t kernel;
    ze_module_handle_t module;
    ze_event_handle_t event;
    ze_command_list_handle_t list;
  };

  void open();
  ze_command_list_handle_t command_list(std::uint32_t group);
  /// Whether all queued work is done, so that it uses nothing any more.
  bool comes_to_rest() noexcept;
  void close_handles() noexcept;
  void read_limits();
  ze_module_handle_t module_of(const gpu::KernelDescription& kernel, std::string& words);
  ze_module_handle_t build(const gpu::KernelDescription& kernel, ze_module_format_t format,
                           std::string_view code, std::string* build_log, ze_result_t& result);
  /// Throws what the result means, and remembers a loss.
  void check(ze_result_t result, std::string_view call) const;
  /// Returns where the event is signalled; throws where the device is lost. Waits without the lock,
  /// so that other threads go on queueing.
  void await(ze_event_handle_t event) const;
  void fill_downloads();

  // What follows is called with the lock held.
  void check_usable() const;
  void check_launch(const gpu::Launch& launch) const;
  void set_arguments(const ComputePipeline& pipeline, const gpu::Launch& launch);
  /// Has the next command wait for the one before, where the list itself does not see to it.
  void keep_order();
  void was_appended();
  void append(const gpu::Launch& launch);
  void append_all(const gpu::CommandList& commands);
  void close(const gpu::CommandList& commands, ClosedList& closed);
  void run(ClosedList& closed);
  void retire(ClosedList& closed) noexcept;
  void destroy_ended_lists() noexcept;
  void append_copy(void* dst, const void* src, std::uint64_t bytes, ze_event_handle_t signal);
  /// The event is signalled when all that was appended is done.
  ze_event_handle_t append_signal();
  void done_up_to(std::uint64_t command);
  std::uint64_t mark_here();
  /// Finds out how far the GPU is.
  void look_at_marks();
  void look_at(std::uint64_t place, std::chrono::nanoseconds longest,
               std::unique_lock<std::mutex>& lock);
  DownloadBlocks::Block& download_room(std::unique_lock<std::mutex>& lock, std::uint64_t bytes);
  void retire(const Retired& retired) noexcept;
  void let_go(const Retired& retired) noexcept;
  void create_staging(Staging& staging, std::uint64_t bytes);
  Staging& upload_room(std::unique_lock<std::mutex>& lock, std::uint64_t bytes);
  /// Waits for the queued copies of the piece, without the lock.
  void settle(Staging& staging, std::unique_lock<std::mutex>& lock);
  void end_aside(ze_event_handle_t begun, ze_event_handle_t ended);
  template <class Body>
  void transfer(Buffer& buffer, std::uint64_t bytes, const Body& body);
  void append_piece(void* dst, const void* src, std::uint64_t bytes, Staging& staging, bool signal,
                    ze_event_handle_t begun);

  const Adapter& adapter_;
  DeviceInfo info_;
  gpu::DeviceLimits limits_;
  const unsigned fork_generation_;
  const bool debug_;
  std::string build_flags_;
  std::unique_ptr<KeptFiles> binaries_;  // where they are kept
  ze_context_handle_t context_ = nullptr;
  ze_command_list_handle_t list_ = nullptr;
  ze_command_list_handle_t copies_ = nullptr;  // of an engine that only copies, where there is one
  bool in_order_ = false;                      // the list sees to it
  ze_command_queue_handle_t queue_ = nullptr;  // of closed lists, from the first one on
  mutable std::atomic<bool> lost_{false};

  mutable std::mutex mutex_;
  std::unique_ptr<Events> events_;
  std::unique_ptr<Timestamps> timestamps_;           // while launches are timed
  std::vector<std::unique_ptr<Timestamps>> unread_;  // of launches that could not be waited for
  std::uint64_t appended_ = 0;                       // commands
  std::uint64_t done_ = 0;                           // of those, as far as is known
  bool unordered_ = false;                           // the last command is not waited for yet
  /// Signalled by the command done_ + 1, where that is a launch that found the GPU idle: to wait
  /// for it alone then takes no command more.
  ze_event_handle_t alone_ = nullptr;
  std::deque<Mark> marks_;  // by place
  std::vector<Retired> retired_;
  std::size_t closed_lists_ = 0;  // that are there
  std::vector<ze_command_list_handle_t>
      ended_lists_;  // of those, what the queue may be at the end of
  std::uint64_t last_buffer_id_ = 0;

  std::mutex upload_mutex_;  // one upload at a time; taken before mutex_
  std::array<Staging, 4> uploads_;
  std::size_t upload_turn_ = 0;
  std::mutex download_mutex_;  // one download at a time; taken before mutex_
  std::array<Staging, 4> downloads_;
  DownloadBlocks reads_;
  std::mutex filling_mutex_;  // taken before mutex_
};

}  // namespace tilewright::level_zero
