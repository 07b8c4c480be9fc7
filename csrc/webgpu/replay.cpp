#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "gpu/command_list.hpp"
#include "webgpu/objects.hpp"

// Commands that are queued again and again. WebGPU's command buffers go out once, so each replay
// encodes them anew, with bind groups and parameters that are there already.
namespace tilewright::webgpu {

class PreparedPass final : public gpu::PreparedCommands {
 public:
  struct Command {
    const ComputePipeline* pipeline;
    BindGroup group;
    std::uint32_t uniform_offset;
  };

  explicit PreparedPass(Device& device) : device_(device) {}
  ~PreparedPass() override {
    if (device_.fork_generation_ != fork_generation()) {
      // The child's copy cannot be taken apart.
      (void)groups.release();
      (void)uniforms.release();
      return;
    }
    std::lock_guard lock(device_.mutex_);
    groups.reset();
    uniforms.reset();
  }

 private:
  Device& device_;

 public:
  std::unique_ptr<BindGroups> groups;
  std::unique_ptr<Uniforms> uniforms;  // of those that do not find room in immediates
  std::vector<Command> commands;       // of the launches
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
        prepared->commands.push_back(
            {&pipeline, group, uniform ? prepared->uniforms->add(launch.params) : 0});
      },
      [](const gpu::Binding&, const gpu::Binding&) {});
  if (prepared->uniforms) prepared->uniforms->write(queue_);
  throw_failure("what a recording binds");
  return prepared;
}

void Device::replay(const gpu::CommandList& list, gpu::PreparedCommands* prepared) {
  std::unique_lock lock(mutex_);
  check_usable();
  if (debug_ || timestamps_) {
    // Each launch is waited for, or has a pass of its own.
    lock.unlock();
    return gpu::Device::replay(list, nullptr);
  }
  const auto& ready = static_cast<const PreparedPass&>(*prepared);
  auto command = ready.commands.begin();
  const auto flush_if_enough = [&] {
    if (gathered_work_ >= enough_work_) submit();
  };
  list.for_each(
      [&](const gpu::Launch& launch) {
        WGPUComputePassEncoder p = pass();
        use(p, *command->pipeline, command->group);
        if (command->pipeline->params_in_uniforms) {
          api().ComputePassEncoderSetBindGroup(p, 1, ready.uniforms->group(), 1,
                                               &command->uniform_offset);
        } else if (!launch.params.empty()) {
          api().ComputePassEncoderSetImmediates(p, 0, launch.params.data(), launch.params.size());
        }
        dispatch(p, launch.grid);
        ++command;
        flush_if_enough();
      },
      [&](const gpu::Binding& dst, const gpu::Binding& src) {
        end_pass();
        api().CommandEncoderCopyBufferToBuffer(encoder(), of(*src.buffer).handle, src.offset,
                                               of(*dst.buffer).handle, dst.offset, dst.bytes);
        gathered_work_ += work_of_a_copy;
        flush_if_enough();
      });
  flush_if_worthwhile();
}

}  // namespace tilewright::webgpu
