#pragma once

#include <cstdint>
#include <vector>

#include "level_zero/api.hpp"

namespace tilewright::level_zero {

/// Events that are used again. Not synchronised: the device holds its lock.
class Events {
 public:
  /// `flags`: what the events' pools are made with.
  Events(ze_context_handle_t context, ze_device_handle_t device, std::uint32_t flags)
      : context_(context), device_(device), flags_(flags) {}
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// One that is not signalled.
  ze_event_handle_t take();
  /// One that was taken, signalled, and is waited for by nobody.
  void put_back(ze_event_handle_t event);

 private:
  void add_pool();

  const ze_context_handle_t context_;
  ze_device_handle_t device_;
  const std::uint32_t flags_;
  std::vector<ze_event_pool_handle_t> pools_;
  std::vector<ze_event_handle_t> all_, free_;
};

}  // namespace tilewright::level_zero
