#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/device.hpp"

namespace tilewright::gpu {

/// Launches and copies on the device as values, in the order in which they are queued.
class CommandList {
 public:
  void add(const Launch& launch) {
    commands_.push_back({launch.pipeline, bindings_.size(), launch.bindings.size(), params_.size(),
                         launch.params.size(), launch.grid});
    bindings_.insert(bindings_.end(), launch.bindings.begin(), launch.bindings.end());
    params_.insert(params_.end(), launch.params.begin(), launch.params.end());
  }
  /// `bytes` from one binding's place to the other's.
  void add_copy(const Binding& dst, const Binding& src) {
    commands_.push_back({nullptr, bindings_.size(), 2, 0, 0, {}});
    bindings_.push_back(dst);
    bindings_.push_back(src);
  }

  std::size_t size() const { return commands_.size(); }

  /// Calls on_launch(Launch) or on_copy(dst, src) for each command.
  template <class OnLaunch, class OnCopy>
  void for_each(const OnLaunch& on_launch, const OnCopy& on_copy) const {
    for (const Command& command : commands_) {
      const std::span<const Binding> bindings(bindings_.data() + command.binding, command.bindings);
      if (command.pipeline == nullptr) {
        on_copy(bindings[0], bindings[1]);
      } else {
        on_launch(Launch{command.pipeline, bindings,
                         std::span(params_.data() + command.param, command.params), command.grid});
      }
    }
  }

 private:
  struct Command {
    const Pipeline* pipeline;  // null for a copy
    std::size_t binding, bindings, param, params;
    std::array<std::uint32_t, 3> grid;
  };
  std::vector<Command> commands_;
  std::vector<Binding> bindings_;
  std::vector<std::byte> params_;
};

}  // namespace tilewright::gpu
