// Command lists: recorded and executed on a queue, or immediate, with a worker of their own.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "queue.hpp"

namespace ze_cpu {

// Of version 1.7.
constexpr ze_command_list_flags_t kListInOrder = ZE_BIT(3);
constexpr ze_command_queue_flags_t kQueueInOrder = ZE_BIT(1);

class CommandList : public Object {
 public:
  using Handle = ze_command_list_handle_t;
  using Commands = std::vector<std::shared_ptr<const Command>>;
  static constexpr Kind kKind = Kind::command_list;

  CommandList(std::shared_ptr<Context> context, std::shared_ptr<Device> device, uint32_t ordinal,
              bool in_order);

  /// Turns this into an immediate list.
  void start(const ze_command_queue_desc_t& desc);
  bool is_immediate() const { return worker_ != nullptr; }
  Worker& worker() const;
  uint32_t index() const { return index_; }

  void append(Command command);
  void close();
  void reset();
  void require_executable(const Queue& queue) const;
  Commands commands() const;

  const std::shared_ptr<Context> context;
  const std::shared_ptr<Device> device;
  const uint32_t ordinal;

 private:
  const bool in_order_;
  uint32_t index_ = 0;
  bool synchronous_ = false;
  mutable std::mutex mutex_;
  bool closed_ = false;
  Commands commands_;
  std::unique_ptr<Worker> worker_;
};

/// Says that a fence's list has ended.
std::shared_ptr<const Command> fence_command(std::shared_ptr<Fence> fence);
/// Ends the use of a list; what follows waits for all of it.
std::shared_ptr<const Command> end_of(std::shared_ptr<CommandList> list);

void require_idle(const Worker& worker, const char* what);

/// A command with the events that its append call names.
Command make_command(std::string name, ze_event_handle_t signal, uint32_t wait_count,
                     ze_event_handle_t* waits);

}  // namespace ze_cpu
