#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "gpu/command_list.hpp"
#include "webgpu/objects.hpp"

// Commands that are queued again and again. WebGPU's command buffers go out once, so each replay
// needs new ones, of bind groups and parameters that are there already. Whoever waits for the
// device encodes them for the next replay meanwhile; what is missing by then is encoded as it is
// queued, of long recordings by two threads.
namespace tilewright::webgpu {

class PreparedPass final : public gpu::PreparedCommands {
 public:
  struct Command {
    const ComputePipeline* pipeline;  ///< null for a copy, from the second place to the first
    BindGroup group;
    std::uint32_t uniform_offset;
    std::array<std::uint32_t, 3> grid;
    std::span<const std::byte> params;
    std::array<gpu::Binding, 2> places;
  };
  /// Some that are encoded while others are.
  struct Part {
    std::atomic<bool> is_ready{false};
    bool is_refused = false;
    WGPUCommandBuffer commands = nullptr;
    std::uint32_t work = 0;
  };
  /// How many are encoded ahead, and how many at a time: those who wait are held up by no more.
  static constexpr std::size_t most_ahead = 4096, at_a_time = 64;
  /// wgpu-native never frees a command buffer that is not submitted, some 100 KB each. From so many
  /// on none is encoded ahead.
  static constexpr std::size_t most_never_submitted = 256;
  /// From here on a second thread pays, which takes a while to wake.
  static constexpr std::size_t least_shared = 4 * at_a_time;

  explicit PreparedPass(Device& device) : device_(device) {}
  ~PreparedPass() override {
    if (device_.fork_generation_ != fork_generation()) {
      // The child's copy cannot be taken apart.
      (void)groups.release();
      (void)uniforms.release();
      return;
    }
    std::lock_guard lock(device_.mutex_);
    std::erase(device_.replayed_, this);
    for (WGPUCommandBuffer one : ready) device_.api_.CommandBufferRelease(one);
    device_.never_submitted_ += ready.size();
    groups.reset();
    uniforms.reset();
  }

  /// What the commands from `first` on, before `last`, may keep the GPU busy with.
  std::uint32_t encode(std::size_t first, std::size_t last, Encoding& encoding) const;
  /// The same for a buffer of their own, on any thread.
  void encode_part(Part& part, std::size_t first, std::size_t last) const noexcept;

 private:
  Device& device_;

 public:
  std::unique_ptr<BindGroups> groups;
  std::unique_ptr<Uniforms> uniforms;  // of those that do not find room in immediates
  std::vector<Command> commands;
  std::vector<WGPUCommandBuffer> ready;  // of the first `encoded` of them
  std::size_t encoded = 0;
  bool was_replayed = false;
  std::vector<Part> parts;  // of one replay
};

std::unique_ptr<gpu::PreparedCommands> Device::prepare(const gpu::CommandList& list) {
  auto prepared = std::make_unique<PreparedPass>(*this);
  std::uint32_t in_uniforms = 0;
  list.for_each(
      [&](const gpu::Launch& launch) {
        check_bindings(launch);
        check_size(launch);
        if (static_cast<const ComputePipeline&>(*launch.pipeline).params_in_uniforms) ++in_uniforms;
      },
      [](const gpu::Binding&, const gpu::Binding&) {});
  prepared->commands.reserve(list.size());
  prepared->ready.reserve(PreparedPass::most_ahead / PreparedPass::at_a_time);
  if (list.size() >= PreparedPass::least_shared) {
    prepared->parts = std::vector<PreparedPass::Part>((list.size() + PreparedPass::at_a_time - 1) /
                                                      PreparedPass::at_a_time);
  }
  std::lock_guard lock(mutex_);  // goes before `prepared` does, which takes it
  check_usable();
  prepared->groups = std::make_unique<BindGroups>(api_, device_, list.size());
  if (in_uniforms > 0) prepared->uniforms = std::make_unique<Uniforms>(api_, device_, in_uniforms);
  list.for_each(
      [&](const gpu::Launch& launch) {
        const auto& pipeline = static_cast<const ComputePipeline&>(*launch.pipeline);
        const BindGroup* const kept = prepared->groups->find(*pipeline.layout, launch.bindings);
        const BindGroup group =
            kept != nullptr ? *kept : prepared->groups->make(*pipeline.layout, launch.bindings);
        const bool uniform = pipeline.params_in_uniforms;
        prepared->commands.push_back({&pipeline,
                                      group,
                                      uniform ? prepared->uniforms->add(launch.params) : 0,
                                      launch.grid,
                                      launch.params,
                                      {}});
      },
      [&](const gpu::Binding& dst, const gpu::Binding& src) {
        prepared->commands.push_back({nullptr, {}, 0, {}, {}, {dst, src}});
      });
  if (prepared->uniforms) prepared->uniforms->write(queue_);
  throw_failure("what a recording binds");
  return prepared;
}

std::uint32_t PreparedPass::encode(std::size_t first, std::size_t last, Encoding& encoding) const {
  std::uint32_t work = 0;
  for (const Command& command : std::span(commands).subspan(first, last - first)) {
    if (command.pipeline == nullptr) {
      const auto& [dst, src] = command.places;
      work += encoding.copy(of(*src.buffer).handle, src.offset, of(*dst.buffer).handle, dst.offset,
                            dst.bytes);
      continue;
    }
    encoding.use(command.pipeline, command.pipeline->handle, command.group);
    if (command.pipeline->params_in_uniforms) {
      encoding.set_params(*uniforms, command.uniform_offset);
    } else {
      encoding.set_params(command.params);
    }
    work += encoding.dispatch(command.grid);
  }
  return work;
}

void PreparedPass::encode_part(Part& part, std::size_t first, std::size_t last) const noexcept {
  const Failures::OfThisThread failures(*device_.failures_);
  Encoding encoding(device_.api_, device_.device_);
  part.work = encode(first, last, encoding);
  part.commands = encoding.finish();
  part.is_refused = device_.failures_->take().has_value();
  if (part.is_refused) device_.api_.CommandBufferRelease(part.commands);
  part.is_ready.store(true, std::memory_order_release);
}

void Device::replay(const gpu::CommandList& list, gpu::PreparedCommands* prepared) {
  Turn turn(*this);
  check_usable();
  if (debug_ || timestamps_) {
    // Each launch is waited for, or has a pass of its own.
    turn.unlock();
    return gpu::Device::replay(list, nullptr);
  }
  auto& pass = static_cast<PreparedPass&>(*prepared);
  std::size_t next = std::exchange(pass.encoded, 0);
  if (next > 0) {
    close_encoder();
    closed_.insert(closed_.end(), pass.ready.begin(), pass.ready.end());
    pass.ready.clear();
    // All at once, since it is there: the GPU has enough to do while the others are encoded.
    gathered_work_ += static_cast<std::uint32_t>(next) * Encoding::work_of_a_launch;
    if (gathered_work_ >= enough_work_) submit();
  }
  const std::size_t end = pass.commands.size();
  for (; next < end && !shares(end - next); ++next) {
    gathered_work_ += pass.encode(next, next + 1, encoding_);
    if (gathered_work_ >= enough_work_) submit();
  }
  if (next < end) replay_shared(pass, next);
  // What is replayed once may never be again.
  const bool is_worth_it =
      std::exchange(pass.was_replayed, true) && !pass.commands.empty() &&
      (api_.is_dawn() || never_submitted_ < PreparedPass::most_never_submitted);
  const bool is_known = std::ranges::find(replayed_, &pass) != replayed_.end();
  if (is_worth_it && !is_known) replayed_.push_back(&pass);
  flush_if_worthwhile();
}

bool Device::shares(std::size_t commands) {
  constexpr auto work_of_a_part =
      static_cast<std::uint32_t>(PreparedPass::at_a_time) * Encoding::work_of_a_launch;
  // An idle GPU gets the first few at once.
  if (commands < PreparedPass::least_shared || enough_work_ < work_of_a_part) return false;
  if (!helper_ && may_have_helper_) {
    may_have_helper_ = false;
    try {
      if (std::thread::hardware_concurrency() > 1) helper_ = std::make_unique<Helper>();
    } catch (const std::system_error&) {
      // No more threads: this one encodes alone.
    }
  }
  return helper_ != nullptr;
}

void Device::replay_shared(PreparedPass& pass, std::size_t first) {
  using Part = PreparedPass::Part;
  constexpr std::size_t each = PreparedPass::at_a_time;
  const std::size_t end = pass.commands.size();
  const auto parts = std::span(pass.parts).first((end - first + each - 1) / each);
  const auto from = [&](std::size_t part) { return std::min(first + part * each, end); };
  std::atomic<std::size_t> next{0};
  const auto encode_next = [&]() noexcept {
    const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
    if (i < parts.size()) pass.encode_part(parts[i], from(i), from(i + 1));
    return i < parts.size();
  };
  const std::function<void()> help = [&] {
    while (encode_next()) {
    }
  };
  struct Sharing {
    const Api& api;
    Helper& helper;
    std::atomic<std::size_t>& next;
    std::span<Part> parts;
    std::size_t queued = 0;
    ~Sharing() {
      next.store(parts.size(), std::memory_order_relaxed);
      helper.end();
      // Those behind a submission that failed.
      for (Part& part : parts.subspan(queued)) {
        if (part.is_ready.exchange(false) && !part.is_refused) {
          api.CommandBufferRelease(part.commands);
        }
      }
    }
  } sharing{api_, *helper_, next, parts};
  helper_->begin(help);
  while (sharing.queued < parts.size()) {
    if (!encode_next()) helper_->end();
    while (sharing.queued < parts.size()) {
      const std::size_t i = sharing.queued;
      if (!parts[i].is_ready.exchange(false, std::memory_order_acquire)) break;
      ++sharing.queued;
      if (parts[i].is_refused) {
        // It is met again, and said when it goes out.
        (void)pass.encode(from(i), from(i + 1), encoding_);
      } else {
        close_encoder();
        closed_.push_back(parts[i].commands);
      }
      gathered_work_ += parts[i].work;
      if (gathered_work_ >= enough_work_) submit();
    }
  }
}

bool Device::encode_ahead() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || replayed_.empty() || failures_->lost()) return false;
  PreparedPass& pass = *replayed_.front();
  const std::size_t end = std::min(pass.commands.size(), PreparedPass::most_ahead);
  const std::size_t last = std::min(pass.encoded + PreparedPass::at_a_time, end);
  const Failures::OfThisThread failures(*failures_);
  Encoding encoding(api_, device_);
  (void)pass.encode(pass.encoded, last, encoding);
  WGPUCommandBuffer encoded = encoding.finish();
  if (failures_->take()) {
    // The replay meets it again, and says so.
    api_.CommandBufferRelease(encoded);
    replayed_.erase(replayed_.begin());
    return false;
  }
  pass.ready.push_back(encoded);
  pass.encoded = last;
  if (last == end) replayed_.erase(replayed_.begin());
  return true;
}

}  // namespace tilewright::webgpu
