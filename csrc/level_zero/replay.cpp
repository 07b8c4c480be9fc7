#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/command_list.hpp"
#include "level_zero/objects.hpp"
#include "tilewright/error.hpp"

// Commands that are queued again and again. Those of a long recording are appended once, to a list
// that is closed then, and each replay has a queue run that list in its place among the commands of
// the immediate one: two events, which the lists themselves reset, keep the order between them.
namespace tilewright::level_zero {

namespace {

/// From here on a closed list pays: a replay of one takes five calls and two changes of queue.
constexpr std::size_t least_closed = 256;
/// How long a look waits for the queue to be at the end of what it has run.
constexpr std::uint64_t longest_end_nanoseconds = 1'000'000'000;

template <class T>
void keep_each_once(std::vector<T*>& all) {
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
}

}  // namespace

class ClosedList final : public gpu::PreparedCommands {
 public:
  explicit ClosedList(Device& device) : device_(device) {}
  ~ClosedList() override {
    if (device_.fork_generation_ != fork_generation()) return;
    std::lock_guard lock(device_.mutex_);
    device_.retire(*this);
  }

 private:
  Device& device_;

 public:
  bool was_replayed = false;  ///< as many are only once
  bool may_close = true;      ///< no call has failed
  ze_command_list_handle_t list = nullptr;
  /// What it waits for, and what it signals at its end.
  ze_event_handle_t before = nullptr, after = nullptr;
  std::uint64_t last_use = 0;
  std::vector<Buffer*> buffers;  // each once, as the pipelines
  std::vector<const ComputePipeline*> pipelines;
};

std::unique_ptr<gpu::PreparedCommands> Device::prepare(const gpu::CommandList& commands) {
  if (debug_ || commands.size() < least_closed) return nullptr;
  return std::make_unique<ClosedList>(*this);
}

/// Launches that were checked when they were recorded.
void Device::replay(const gpu::CommandList& commands, gpu::PreparedCommands* prepared) {
  if (debug_) return gpu::Device::replay(commands, prepared);
  std::lock_guard lock(mutex_);
  check_usable();
  auto* const closed = static_cast<ClosedList*>(prepared);
  // Profiles have an event for each launch.
  if (closed == nullptr || timestamps_) return append_all(commands);
  if (closed->list == nullptr && closed->was_replayed && closed->may_close) {
    close(commands, *closed);
  }
  closed->was_replayed = true;
  if (closed->list == nullptr) return append_all(commands);
  run(*closed);
}

void Device::append_all(const gpu::CommandList& commands) {
  commands.for_each([this](const gpu::Launch& launch) { append(launch); },
                    [this](const gpu::Binding& dst, const gpu::Binding& src) {
                      Buffer &to = of(*dst.buffer), &from = of(*src.buffer);
                      to.last_use = from.last_use = appended_ + 1;
                      append_copy(to.data + dst.offset, from.data + src.offset, dst.bytes, nullptr);
                    });
}

/// Leaves it without a list, for good, where a call fails.
void Device::close(const gpu::CommandList& commands, ClosedList& closed) {
  const auto barrier = [&](ze_event_handle_t signal, ze_event_handle_t awaited) {
    check(api().CommandListAppendBarrier(closed.list, signal, awaited == nullptr ? 0 : 1, &awaited),
          "zeCommandListAppendBarrier");
  };
  try {
    if (queue_ == nullptr) {
      ze_command_queue_desc_t descriptor;
      descriptor.ordinal = adapter_.compute_group;
      check(api().CommandQueueCreate(context_, adapter_.handle, &descriptor, &queue_),
            "zeCommandQueueCreate");
    }
    ended_lists_.reserve(closed_lists_ + 1);
    closed.before = events_->take();
    closed.after = events_->take();
    ze_command_list_desc_t descriptor;
    descriptor.commandQueueGroupOrdinal = adapter_.compute_group;
    check(api().CommandListCreate(context_, adapter_.handle, &descriptor, &closed.list),
          "zeCommandListCreate");
    ++closed_lists_;
    barrier(nullptr, closed.before);
    check(api().CommandListAppendEventReset(closed.list, closed.before),
          "zeCommandListAppendEventReset");
    commands.for_each(
        [&](const gpu::Launch& launch) {
          const auto& pipeline = static_cast<const ComputePipeline&>(*launch.pipeline);
          set_arguments(pipeline, launch);
          barrier(nullptr, nullptr);
          const ze_group_count_t groups{launch.grid[0], launch.grid[1], launch.grid[2]};
          check(api().CommandListAppendLaunchKernel(closed.list, pipeline.handle, &groups, nullptr,
                                                    0, nullptr),
                "zeCommandListAppendLaunchKernel");
          closed.pipelines.push_back(&pipeline);
          for (const gpu::Binding& binding : launch.bindings) {
            closed.buffers.push_back(&of(*binding.buffer));
          }
        },
        [&](const gpu::Binding& dst, const gpu::Binding& src) {
          Buffer &to = of(*dst.buffer), &from = of(*src.buffer);
          barrier(nullptr, nullptr);
          check(api().CommandListAppendMemoryCopy(closed.list, to.data + dst.offset,
                                                  from.data + src.offset, dst.bytes, nullptr, 0,
                                                  nullptr),
                "zeCommandListAppendMemoryCopy");
          closed.buffers.insert(closed.buffers.end(), {&to, &from});
        });
    barrier(closed.after, nullptr);
    check(api().CommandListClose(closed.list), "zeCommandListClose");
    keep_each_once(closed.buffers);
    keep_each_once(closed.pipelines);
  } catch (const std::exception&) {
    retire(closed);
    check_usable();
  }
}

void Device::run(ClosedList& closed) {
  check(api().CommandListAppendBarrier(list_, closed.before, 0, nullptr),
        "zeCommandListAppendBarrier");
  was_appended();
  closed.last_use = appended_;
  ze_result_t result = api().CommandQueueExecuteCommandLists(queue_, 1, &closed.list, nullptr);
  if (result != ZE_RESULT_SUCCESS) {
    retire(closed);
    check(result, "zeCommandQueueExecuteCommandLists");
  }
  closed.last_use = appended_ + 1;
  for (Buffer* buffer : closed.buffers) buffer->last_use = closed.last_use;
  for (const ComputePipeline* pipeline : closed.pipelines) pipeline->last_use = closed.last_use;
  result = api().CommandListAppendBarrier(list_, nullptr, 1, &closed.after);
  was_appended();
  unordered_ = false;
  if (result != ZE_RESULT_SUCCESS) {
    const ze_event_handle_t after = closed.after;
    await(after);  // as what is queued from now on does not
    retire(closed);
    check(result, "zeCommandListAppendBarrier");
  }
  if (api().CommandListAppendEventReset(list_, closed.after) != ZE_RESULT_SUCCESS) retire(closed);
}

void Device::retire(ClosedList& closed) noexcept {
  closed.may_close = false;
  const auto retire_event = [&](ze_event_handle_t& event) {
    if (event != nullptr) {
      retire({closed.last_use, nullptr, nullptr, nullptr, std::exchange(event, nullptr), nullptr});
    }
  };
  retire_event(closed.before);
  retire_event(closed.after);
  if (closed.list == nullptr) return;
  retire(
      {closed.last_use, nullptr, nullptr, nullptr, nullptr, std::exchange(closed.list, nullptr)});
}

/// The last event of a list comes before the queue has done with it.
void Device::destroy_ended_lists() noexcept {
  if (ended_lists_.empty() || (done_ != appended_ && !lost_)) return;
  if (!lost_) (void)api().CommandQueueSynchronize(queue_, longest_end_nanoseconds);
  for (ze_command_list_handle_t list : ended_lists_) api().CommandListDestroy(list);
  closed_lists_ -= ended_lists_.size();
  ended_lists_.clear();
}

}  // namespace tilewright::level_zero
