#include "level_zero/events.hpp"

#include "level_zero/results.hpp"

namespace tilewright::level_zero {

namespace {

constexpr std::uint32_t events_of_a_pool = 64;

}  // namespace

Events::~Events() {
  for (ze_event_handle_t event : all_) api().EventDestroy(event);
  for (ze_event_pool_handle_t pool : pools_) api().EventPoolDestroy(pool);
}

void Events::add_pool() {
  ze_event_pool_desc_t descriptor;
  descriptor.flags = flags_;
  descriptor.count = events_of_a_pool;
  pools_.reserve(pools_.size() + 1);
  all_.reserve(all_.size() + events_of_a_pool);
  free_.reserve(all_.size() + events_of_a_pool);
  ze_event_pool_handle_t pool = nullptr;
  check(api().EventPoolCreate(context_, &descriptor, 1, &device_, &pool), "zeEventPoolCreate");
  pools_.push_back(pool);
  for (std::uint32_t i = 0; i < events_of_a_pool; ++i) {
    ze_event_desc_t event_descriptor;
    event_descriptor.index = i;
    event_descriptor.signal = ZE_EVENT_SCOPE_FLAG_HOST;
    event_descriptor.wait = ZE_EVENT_SCOPE_FLAG_DEVICE;
    ze_event_handle_t event = nullptr;
    check(api().EventCreate(pool, &event_descriptor, &event), "zeEventCreate");
    all_.push_back(event);
    free_.push_back(event);
  }
}

ze_event_handle_t Events::take() {
  if (free_.empty()) add_pool();
  ze_event_handle_t event = free_.back();
  free_.pop_back();
  return event;
}

void Events::put_back(ze_event_handle_t event) {
  // One that cannot be reset is not used again.
  if (api().EventHostReset(event) == ZE_RESULT_SUCCESS) free_.push_back(event);
}

}  // namespace tilewright::level_zero
