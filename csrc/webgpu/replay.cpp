#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "gpu/command_list.hpp"
#include "webgpu/objects.hpp"

// Commands that are queued again and again. WebGPU's command buffers go out once, so each replay
// needs new ones, of bind groups and parameters that are there already. Whoever waits for the
// device encodes them for the next replay meanwhile; what is missing by then is encoded as it is
// queued.
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
  /// How many are encoded ahead, and how many at a time: those who wait are held up by no more.
  static constexpr std::size_t most_ahead = 4096, at_a_time = 64;

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
    for (WGPUCommandBuffer one : ready) api().CommandBufferRelease(one);
    groups.reset();
    uniforms.reset();
  }

 private:
  Device& device_;

 public:
  std::unique_ptr<BindGroups> groups;
  std::unique_ptr<Uniforms> uniforms;  // of those that do not find room in immediates
  std::vector<Command> commands;
  std::vector<WGPUCommandBuffer> ready;  // of the first `encoded` of them
  std::size_t encoded = 0;
};

std::unique_ptr<gpu::PreparedCommands> Device::prepare(const gpu::CommandList& list) {
  auto prepared = std::make_unique<PreparedPass>(*this);
  std::uint32_t in_uniforms = 0;
  list.for_each(
      [&](const gpu::Launch& launch) {
        check_launch(launch);
        if (static_cast<const ComputePipeline&>(*launch.pipeline).params_in_uniforms) ++in_uniforms;
      },
      [](const gpu::Binding&, const gpu::Binding&) {});
  prepared->commands.reserve(list.size());
  prepared->ready.reserve(PreparedPass::most_ahead / PreparedPass::at_a_time);
  std::lock_guard lock(mutex_);  // goes before `prepared` does, which takes it
  check_usable();
  prepared->groups = std::make_unique<BindGroups>(device_, list.size());
  if (in_uniforms > 0) prepared->uniforms = std::make_unique<Uniforms>(device_, in_uniforms);
  list.for_each(
      [&](const gpu::Launch& launch) {
        const auto& pipeline = static_cast<const ComputePipeline&>(*launch.pipeline);
        std::array<BoundRange, BindGroups::max_ranges> ranges;
        for (std::size_t i = 0; i < launch.bindings.size(); ++i) {
          const Buffer& buffer = of(*launch.bindings[i].buffer);
          ranges[i] = {buffer.id, buffer.handle, launch.bindings[i].offset,
                       launch.bindings[i].bytes};
        }
        const BindGroup group = prepared->groups->get(
            *pipeline.layout, std::span(ranges).first(launch.bindings.size()));
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

void Device::encode(const PreparedPass& prepared, std::size_t i) {
  const PreparedPass::Command& command = prepared.commands[i];
  if (command.pipeline == nullptr) {
    const auto& [dst, src] = command.places;
    end_pass();
    api().CommandEncoderCopyBufferToBuffer(encoder(), of(*src.buffer).handle, src.offset,
                                           of(*dst.buffer).handle, dst.offset, dst.bytes);
    gathered_work_ += work_of_a_copy;
    return;
  }
  WGPUComputePassEncoder p = pass();
  use(p, *command.pipeline, command.group);
  if (command.pipeline->params_in_uniforms) {
    api().ComputePassEncoderSetBindGroup(p, 1, prepared.uniforms->group(), 1,
                                         &command.uniform_offset);
  } else {
    set_params(p, command.params);
  }
  dispatch(p, command.grid);
}

void Device::replay(const gpu::CommandList& list, gpu::PreparedCommands* prepared) {
  std::unique_lock lock(mutex_);
  check_usable();
  if (debug_ || timestamps_) {
    // Each launch is waited for, or has a pass of its own.
    lock.unlock();
    return gpu::Device::replay(list, nullptr);
  }
  auto& pass = static_cast<PreparedPass&>(*prepared);
  std::size_t next = std::exchange(pass.encoded, 0);
  if (next > 0) {
    close_encoder();
    closed_.insert(closed_.end(), pass.ready.begin(), pass.ready.end());
    pass.ready.clear();
    // All at once, since it is there: the GPU has enough to do while the others are encoded.
    gathered_work_ += static_cast<std::uint32_t>(next) * work_of_a_launch;
    if (gathered_work_ >= enough_work_) submit();
  }
  for (; next < pass.commands.size(); ++next) {
    encode(pass, next);
    if (gathered_work_ >= enough_work_) submit();
  }
  const bool is_known = std::ranges::find(replayed_, &pass) != replayed_.end();
  if (!is_known && !pass.commands.empty()) replayed_.push_back(&pass);
  flush_if_worthwhile();
}

bool Device::encode_ahead() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || replayed_.empty() || failures_->lost()) return false;
  PreparedPass& pass = *replayed_.front();
  const std::size_t end = std::min(pass.commands.size(), PreparedPass::most_ahead);
  const std::size_t last = std::min(pass.encoded + PreparedPass::at_a_time, end);
  // What is gathered for the next submission stays as it is.
  const Failures::OfThisThread failures(*failures_);
  const Commands gathered = std::exchange(commands_, {});
  const std::uint32_t work = gathered_work_;
  for (std::size_t i = pass.encoded; i < last; ++i) encode(pass, i);
  end_pass();
  WGPUCommandBuffer encoded = api().CommandEncoderFinish(commands_.encoder, nullptr);
  api().CommandEncoderRelease(commands_.encoder);
  commands_ = gathered;
  gathered_work_ = work;
  if (failures_->take()) {
    // The replay meets it again, and says so.
    api().CommandBufferRelease(encoded);
    replayed_.erase(replayed_.begin());
    return false;
  }
  pass.ready.push_back(encoded);
  pass.encoded = last;
  if (last == end) replayed_.erase(replayed_.begin());
  return true;
}

}  // namespace tilewright::webgpu
