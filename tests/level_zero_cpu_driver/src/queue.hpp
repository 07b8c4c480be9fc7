// Command queues: each has a worker thread, on which commands run some time after they were given.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "command.hpp"
#include "opencl.hpp"

namespace ze_cpu {

/// Runs commands one by one: as given, or with ZE_CPU_SHUFFLE in any order that barriers, events
/// and in-order lists allow.
class Worker {
 public:
  Worker();
  ~Worker();

  void submit(std::vector<std::shared_ptr<const Command>> commands);
  /// Nothing that the program gave is used any more.
  bool is_idle() const { return unfinished_ == 0; }
  /// Everything submitted so far has ended.
  ze_result_t wait(uint64_t nanoseconds);

  /// The queue that spreads work over all cores, or the one that runs it on this thread.
  cl_command_queue opencl_queue(bool parallel) const { return parallel ? parallel_ : serial_; }

 private:
  void work();
  /// The next command that may run; null when the worker ends.
  std::shared_ptr<const Command> take();
  /// The index of a pending command that may run now; their number if there is none.
  size_t choose();
  void execute(const Command& command);
  void gather(std::unique_lock<std::mutex>& lock);

  cl_command_queue parallel_;
  cl_command_queue serial_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::shared_ptr<const Command>> pending_;
  // A command first stops using things, then says that it has ended, and then counts as ended: so a
  // program that was told of the end, by an event or by the queue, finds all of it done.
  std::atomic<size_t> unfinished_{0};
  std::atomic<size_t> unreported_{0};
  std::atomic<bool> ends_{false};
  std::mt19937_64 random_;
  Trouble trouble_;
  std::thread thread_;
};

class Queue : public Object {
 public:
  using Handle = ze_command_queue_handle_t;
  static constexpr Kind kKind = Kind::command_queue;
  Queue(std::shared_ptr<Context> context, std::shared_ptr<Device> device,
        const ze_command_queue_desc_t& desc);

  const std::shared_ptr<Context> context;
  const std::shared_ptr<Device> device;
  const uint32_t ordinal;
  const uint32_t index;
  const bool synchronous;
  Worker worker;
};

}  // namespace ze_cpu
