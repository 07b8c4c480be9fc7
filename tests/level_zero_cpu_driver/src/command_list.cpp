#include "command_list.hpp"

#include "api.hpp"

namespace ze_cpu {

CommandList::CommandList(std::shared_ptr<Context> context, std::shared_ptr<Device> device,
                         uint32_t ordinal, bool in_order)
    : Object(kKind, {context}),
      context(std::move(context)),
      device(std::move(device)),
      ordinal(ordinal),
      in_order_(in_order) {}

void CommandList::start(const ze_command_queue_desc_t& desc) {
  index_ = desc.index;
  synchronous_ = desc.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  worker_ = std::make_unique<Worker>();
}

Worker& CommandList::worker() const {
  if (!is_immediate()) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is not an immediate one");
  }
  return *worker_;
}

void CommandList::append(Command command) {
  device->require_present();
  if (in_order_) command.orders = true;
  auto shared = std::make_shared<const Command>(std::move(command));
  if (is_immediate()) {
    worker_->submit({std::move(shared)});
    if (synchronous_) worker_->wait(UINT64_MAX);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (closed_) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, shared->name,
         " is appended to a closed command list; reset it first");
  }
  commands_.push_back(std::move(shared));
}

void CommandList::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void CommandList::reset() {
  if (is_immediate()) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "an immediate command list cannot be reset");
  }
  require_unused();
  const std::lock_guard lock(mutex_);
  commands_.clear();
  closed_ = false;
}

void CommandList::require_executable(const Queue& queue) const {
  if (is_immediate()) {
    fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "an immediate command list is not executed");
  }
  if (queue.ordinal != ordinal) {
    fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "the command list is for queue group ", ordinal,
         ", the queue is of group ", queue.ordinal);
  }
  if (queue.device != device || queue.context != context) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is of another device or context");
  }
  const std::lock_guard lock(mutex_);
  if (!closed_) fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is not closed");
}

CommandList::Commands CommandList::commands() const {
  const std::lock_guard lock(mutex_);
  return commands_;
}

std::shared_ptr<const Command> fence_command(std::shared_ptr<Fence> fence) {
  Command command;
  command.name = "fence";
  command.orders = true;
  command.uses.push_back(fence);
  command.fence = std::move(fence);
  return std::make_shared<const Command>(std::move(command));
}

std::shared_ptr<const Command> end_of(std::shared_ptr<CommandList> list) {
  Command command;
  command.name = "end of list";
  command.orders = true;
  command.uses.push_back(std::move(list));
  return std::make_shared<const Command>(std::move(command));
}

void require_idle(const Worker& worker, const char* what) {
  if (!worker.is_idle() && !devices_are_lost()) {
    fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the ", what, " has commands that have not ended");
  }
}

Command make_command(std::string name, ze_event_handle_t signal, uint32_t wait_count,
                     ze_event_handle_t* waits) {
  Command command;
  command.name = std::move(name);
  if (wait_count > 0 && waits == nullptr) {
    fail(ZE_RESULT_ERROR_INVALID_SIZE, "phWaitEvents is null with numWaitEvents ", wait_count);
  }
  for (uint32_t i = 0; i < wait_count; ++i) {
    command.waits.push_back(find<Event>(waits[i]));
    command.uses.push_back(command.waits.back());
  }
  if (signal != nullptr) {
    command.signal = find<Event>(signal);
    command.uses.push_back(command.signal);
  }
  return command;
}

namespace api {

ze_result_t zeCommandListCreate(ze_context_handle_t context, ze_device_handle_t device,
                                const ze_command_list_desc_t* desc,
                                ze_command_list_handle_t* list) {
  const auto parent = find<Context>(context);
  const auto owner = find<Device>(device);
  require_descriptor(desc, ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, "desc");
  require_pointer(list, "phCommandList");
  queue_group(desc->commandQueueGroupOrdinal, 0);
  *list = publish(std::make_shared<CommandList>(parent, owner, desc->commandQueueGroupOrdinal,
                                                (desc->flags & kListInOrder) != 0));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListCreateImmediate(ze_context_handle_t context, ze_device_handle_t device,
                                         const ze_command_queue_desc_t* desc,
                                         ze_command_list_handle_t* list) {
  const auto parent = find<Context>(context);
  const auto owner = find<Device>(device);
  require_descriptor(desc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, "altdesc");
  require_pointer(list, "phCommandList");
  queue_group(desc->ordinal, desc->index);
  const auto made = std::make_shared<CommandList>(parent, owner, desc->ordinal,
                                                  (desc->flags & kQueueInOrder) != 0);
  made->start(*desc);
  *list = publish(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListDestroy(ze_command_list_handle_t handle) {
  const auto list = find<CommandList>(handle);
  if (list->is_immediate()) require_idle(list->worker(), "immediate command list");
  destroy<CommandList>(handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListClose(ze_command_list_handle_t list) {
  find<CommandList>(list)->close();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListReset(ze_command_list_handle_t list) {
  find<CommandList>(list)->reset();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout) {
  return find<CommandList>(list)->worker().wait(timeout);
}

ze_result_t zeCommandListGetOrdinal(ze_command_list_handle_t list, uint32_t* ordinal) {
  require_pointer(ordinal, "pOrdinal");
  *ordinal = find<CommandList>(list)->ordinal;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListImmediateGetIndex(ze_command_list_handle_t list, uint32_t* index) {
  require_pointer(index, "pIndex");
  const auto found = find<CommandList>(list);
  found->worker();
  *index = found->index();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListIsImmediate(ze_command_list_handle_t list, ze_bool_t* immediate) {
  require_pointer(immediate, "pIsImmediate");
  *immediate = find<CommandList>(list)->is_immediate();
  return ZE_RESULT_SUCCESS;
}

}  // namespace api
}  // namespace ze_cpu
