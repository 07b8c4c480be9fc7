#include "queue.hpp"

#include <CL/cl_ext.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <shared_mutex>

#include "api.hpp"
#include "command_list.hpp"
#include "completion.hpp"
#include "log.hpp"
#include "settings.hpp"

namespace ze_cpu {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// A shuffled queue waits for company, so that there is something to shuffle.
constexpr microseconds kGatherTime{2000};
constexpr microseconds kGatherStep{100};
constexpr size_t kGatherCount = 64;
constexpr uint64_t kLookAgain = 1000000;
constexpr std::chrono::milliseconds kAtTheEnd{10};

cl_command_queue make_queue(cl_command_queue_properties properties) {
  const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
  cl_int error = CL_SUCCESS;
  const OpenCL& cl = opencl();
  const cl_command_queue queue =
      cl.clCreateCommandQueueWithProperties(cl.context, cl.device, list, &error);
  if (error != CL_SUCCESS) {
    fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "the OpenCL runtime gives no queue: ", error);
  }
  return queue;
}

bool is_ready(const Command& command) {
  return std::all_of(command.waits.begin(), command.waits.end(),
                     [](const auto& event) { return event->signal.is_set(); });
}

std::atomic<bool> process_ends{false};

// Held by workers while a command runs.
std::shared_mutex& running() {
  static auto* mutex = new std::shared_mutex;
  return *mutex;
}

// A program may end with work in its queues. No command begins then any more, and the OpenCL
// runtime, whose end comes after, is not taken apart under one that runs.
void stop_workers_at_exit() {
  [[maybe_unused]] static const int registered = std::atexit([] {
    process_ends = true;
    running().lock();
  });
}

void stop_using(const Command& command) {
  for (const auto& object : command.uses) --object->in_flight;
}

}  // namespace

Worker::Worker()
    : parallel_(make_queue(0)),
      serial_(make_queue(CL_QUEUE_THREAD_LOCAL_EXEC_ENABLE_INTEL)),
      random_(settings().shuffle_seed.value_or(0)),
      thread_([this] { work(); }) {
  stop_workers_at_exit();
}

Worker::~Worker() {
  ends_ = true;
  {
    const std::lock_guard lock(mutex_);
  }
  arrived_.notify_all();
  completion().announce();
  thread_.join();
  for (const auto& command : pending_) stop_using(*command);
  opencl().clReleaseCommandQueue(parallel_);
  opencl().clReleaseCommandQueue(serial_);
}

void Worker::submit(std::vector<std::shared_ptr<const Command>> commands) {
  for (const auto& command : commands) {
    for (const auto& object : command->uses) {
      if (object->destroyed) {
        fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, command->name, " uses a ", name_of(object->kind),
             " that was destroyed after the command was recorded");
      }
    }
  }
  for (const auto& command : commands) {
    for (const auto& object : command->uses) ++object->in_flight;
  }
  {
    const std::lock_guard lock(mutex_);
    unfinished_ += commands.size();
    unreported_ += commands.size();
    for (auto& command : commands) pending_.push_back(std::move(command));
  }
  arrived_.notify_one();
}

ze_result_t Worker::wait(uint64_t nanoseconds) {
  const ze_result_t result = wait_unless_lost(nanoseconds, [this] { return unreported_ == 0; });
  if (result == ZE_RESULT_SUCCESS) trouble_.raise();
  return result;
}

void Worker::work() {
  while (const auto command = take()) {
    std::shared_lock lock(running());
    if (!process_ends) {
      execute(*command);
      continue;
    }
    lock.unlock();
    while (!ends_) std::this_thread::sleep_for(kAtTheEnd);
  }
}

std::shared_ptr<const Command> Worker::take() {
  std::unique_lock lock(mutex_);
  while (true) {
    arrived_.wait(lock, [this] { return ends_ || !pending_.empty(); });
    if (ends_) return nullptr;
    if (settings().shuffle_seed) gather(lock);
    const size_t index = choose();
    if (index < pending_.size()) {
      const auto command = std::move(pending_[index]);
      pending_.erase(pending_.begin() + ptrdiff_t(index));
      return command;
    }
    lock.unlock();
    completion().wait(kLookAgain, [this] {
      const std::lock_guard lock(mutex_);
      return ends_ || choose() < pending_.size();
    });
    lock.lock();
  }
}

void Worker::gather(std::unique_lock<std::mutex>& lock) {
  const auto deadline = steady_clock::now() + kGatherTime;
  const auto has_enough = [this] {
    return ends_ || completion().hosts_waiting() > 0 || pending_.size() >= kGatherCount ||
           std::any_of(pending_.begin(), pending_.end(),
                       [](const auto& command) { return command->orders; });
  };
  while (!has_enough() && steady_clock::now() < deadline) arrived_.wait_for(lock, kGatherStep);
}

size_t Worker::choose() {
  if (pending_.empty()) return 0;
  if (devices_are_lost()) return 0;
  std::vector<size_t> candidates;
  const size_t last = settings().shuffle_seed ? pending_.size() : 1;
  for (size_t i = 0; i < last; ++i) {
    if (pending_[i]->orders && i > 0) break;
    if (is_ready(*pending_[i])) candidates.push_back(i);
    if (pending_[i]->orders) break;
  }
  if (candidates.empty()) return pending_.size();
  return candidates.size() == 1 ? candidates[0] : candidates[random_() % candidates.size()];
}

void Worker::execute(const Command& command) {
  count_command();
  const bool lost = devices_are_lost();
  std::optional<Failure> failure;
  const uint64_t start = now();
  if (!lost && command.run) {
    set_running(command.name.c_str());
    try {
      command.run(*this);
    } catch (const Failure& thrown) {
      failure = Failure{thrown.result, text(command.name, ": ", thrown.message)};
    }
    set_running(nullptr);
  }
  if (command.orders && settings().barrier_microseconds > 0) {
    std::this_thread::sleep_for(microseconds(settings().barrier_microseconds));
  }
  const uint64_t end = now();
  for (const auto& allocation : command.memory) {
    const std::string damage = allocation->damage();
    if (!damage.empty())
      failure = Failure{ZE_RESULT_ERROR_UNKNOWN, text(command.name, ": ", damage)};
  }
  stop_using(command);
  // A lost device never says that its work has ended.
  if (lost) return;
  if (failure) {
    complain(failure->message);
    trouble_.keep(*failure);
  }
  if (command.signal != nullptr) {
    command.signal->start = start;
    command.signal->end = end;
    if (failure) command.signal->signal.trouble.keep(*failure);
  }
  if (command.fence != nullptr && failure) command.fence->signal.trouble.keep(*failure);
  --unfinished_;
  if (command.signal != nullptr) command.signal->signal.set();
  if (command.fence != nullptr) command.fence->signal.set();
  --unreported_;
  completion().announce();
}

Queue::Queue(std::shared_ptr<Context> context, std::shared_ptr<Device> device,
             const ze_command_queue_desc_t& desc)
    : Object(kKind, {context}),
      context(std::move(context)),
      device(std::move(device)),
      ordinal(desc.ordinal),
      index(desc.index),
      synchronous(desc.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS) {}

namespace api {

ze_result_t zeCommandQueueCreate(ze_context_handle_t context, ze_device_handle_t device,
                                 const ze_command_queue_desc_t* desc,
                                 ze_command_queue_handle_t* queue) {
  const auto parent = find<Context>(context);
  const auto owner = find<Device>(device);
  require_descriptor(desc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, "desc");
  require_pointer(queue, "phCommandQueue");
  queue_group(desc->ordinal, desc->index);
  *queue = publish(std::make_shared<Queue>(parent, owner, *desc));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueDestroy(ze_command_queue_handle_t handle) {
  const auto queue = find<Queue>(handle);
  require_idle(queue->worker, "queue");
  destroy<Queue>(handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t handle, uint32_t count,
                                              ze_command_list_handle_t* lists,
                                              ze_fence_handle_t fence_handle) {
  const auto queue = find<Queue>(handle);
  require_pointer(lists, "phCommandLists");
  queue->device->require_present();
  std::vector<std::shared_ptr<const Command>> commands;
  for (uint32_t i = 0; i < count; ++i) {
    const auto list = find<CommandList>(lists[i]);
    list->require_executable(*queue);
    const auto recorded = list->commands();
    commands.insert(commands.end(), recorded.begin(), recorded.end());
    commands.push_back(end_of(list));
  }
  if (fence_handle != nullptr) commands.push_back(fence_command(find<Fence>(fence_handle)));
  queue->worker.submit(std::move(commands));
  return queue->synchronous ? queue->worker.wait(UINT64_MAX) : ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout) {
  return find<Queue>(queue)->worker.wait(timeout);
}

ze_result_t zeCommandQueueGetOrdinal(ze_command_queue_handle_t queue, uint32_t* ordinal) {
  require_pointer(ordinal, "pOrdinal");
  *ordinal = find<Queue>(queue)->ordinal;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueGetIndex(ze_command_queue_handle_t queue, uint32_t* index) {
  require_pointer(index, "pIndex");
  *index = find<Queue>(queue)->index;
  return ZE_RESULT_SUCCESS;
}

}  // namespace api
}  // namespace ze_cpu
