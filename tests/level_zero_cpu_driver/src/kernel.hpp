// Kernels: their arguments as last set, and launches with the arguments of that moment.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "command.hpp"
#include "module.hpp"

namespace ze_cpu {

struct Argument {
  ArgumentKind kind;
  bool is_set = false;
  size_t size = 0;
  std::vector<uint8_t> value{};
  const void* pointer = nullptr;
};

struct GroupSize {
  size_t x, y, z;
  size_t items() const { return x * y * z; }
};

class Kernel : public Object, public std::enable_shared_from_this<Kernel> {
 public:
  using Handle = ze_kernel_handle_t;
  static constexpr Kind kKind = Kind::kernel;
  Kernel(std::shared_ptr<Module> module, std::string name);
  ~Kernel() override;

  void set_argument(uint32_t index, size_t size, const void* value);
  void set_group_size(GroupSize size);
  void properties(ze_kernel_properties_t& out) const;
  GroupSize suggested_group_size(GroupSize global) const;
  /// A command that runs the kernel with the arguments and group size of now.
  Command launch(const ze_group_count_t* groups, bool indirect, ze_event_handle_t signal,
                 uint32_t wait_count, ze_event_handle_t* waits);

  const std::shared_ptr<Module> module;
  const std::string name;

 private:
  void require_local_memory() const;
  void run(Worker& worker, const std::vector<Argument>& arguments, GroupSize local,
           const ze_group_count_t& groups);

  // Arguments are checked on one and run with the other, so that neither waits for the other.
  cl_kernel checked_;
  cl_kernel running_;
  GroupSize required_{};
  size_t static_local_memory_ = 0;
  mutable std::mutex mutex_;
  std::mutex run_mutex_;
  GroupSize group_size_{};
  std::vector<Argument> arguments_;
};

}  // namespace ze_cpu
