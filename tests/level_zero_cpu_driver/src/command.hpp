// One piece of work as a command list records it and a queue runs it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "event.hpp"
#include "memory.hpp"

namespace ze_cpu {

class Worker;

struct Command {
  std::string name;
  /// Does the work on the worker's thread; empty for what only orders other commands.
  std::function<void(Worker&)> run;
  std::vector<std::shared_ptr<Event>> waits;
  std::shared_ptr<Event> signal;
  std::shared_ptr<Fence> fence;
  /// All of the program's objects that must live until the command has ended.
  std::vector<std::shared_ptr<Object>> uses;
  std::vector<std::shared_ptr<Allocation>> memory;
  /// Nothing crosses it: all before it ends before it, all after it starts after it.
  bool orders = false;

  void use(std::shared_ptr<Allocation> allocation) {
    if (allocation == nullptr) return;
    uses.push_back(allocation);
    memory.push_back(std::move(allocation));
  }
};

}  // namespace ze_cpu
