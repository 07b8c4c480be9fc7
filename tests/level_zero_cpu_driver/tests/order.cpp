// When commands run: later than they are given, and in no other order than what was asked for.
#include <algorithm>
#include <numeric>
#include <set>

#include "fixture.hpp"

namespace {

// Of Level Zero 1.7, after Debian's header.
constexpr ze_command_queue_flags_t kInOrder = ZE_BIT(1);

/// Doubles 1 and adds one, `rounds` times, with or without barriers between.
int doubled_and_counted(Fixture& f, ze_command_list_handle_t list, int rounds, bool barriers) {
  auto* const value = f.device_memory<int>(1);
  *value = 1;
  const auto times_two = f.kernel("times_two");
  const auto plus_one = f.kernel("plus_one");
  REQUIRE_OK(set_argument(times_two, 0, value));
  REQUIRE_OK(set_argument(plus_one, 0, value));
  for (int round = 0; round < rounds; ++round) {
    for (const auto kernel : {times_two, plus_one}) {
      REQUIRE_OK(f.launch(list, kernel));
      if (barriers) REQUIRE_OK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
    }
  }
  REQUIRE_OK(f.finish(list));
  return *value;
}

constexpr int kRounds = 8;
constexpr int kInOrderResult = (1 << (kRounds + 1)) - 1;

}  // namespace

TEST_CASE("a command runs after the call that gave it has returned") {
  Fixture f;
  const auto list = f.immediate();
  const auto gate = f.event();
  const auto done = f.event();
  auto* const value = f.device_memory<int>(1);
  *value = 1;
  const int two = 2;
  auto wait = gate;
  REQUIRE_OK(zeCommandListAppendMemoryCopy(list, value, &two, sizeof(two), done, 1, &wait));
  CHECK(zeEventQueryStatus(done) == ZE_RESULT_NOT_READY);
  CHECK(zeEventHostSynchronize(done, 20 * kMillisecond) == ZE_RESULT_NOT_READY);
  CHECK(*value == 1);
  REQUIRE_OK(zeEventHostSignal(gate));
  REQUIRE_OK(zeEventHostSynchronize(done, kForever));
  CHECK(*value == 2);
}

TEST_CASE("a kernel reads its arguments of when it was appended") {
  Fixture f;
  const auto list = f.immediate();
  auto* const values = f.device_memory<int>(2);
  std::fill_n(values, 2, 0);
  const auto kernel = f.kernel("plus_one");
  const auto gate = f.event();
  REQUIRE_OK(zeCommandListAppendWaitOnEvents(list, 1, const_cast<ze_event_handle_t*>(&gate)));
  REQUIRE_OK(set_argument(kernel, 0, values));
  REQUIRE_OK(f.launch(list, kernel));
  REQUIRE_OK(set_argument(kernel, 0, values + 1));
  REQUIRE_OK(zeEventHostSignal(gate));
  REQUIRE_OK(f.finish(list));
  CHECK(values[0] == 1);
  CHECK(values[1] == 0);
}

TEST_CASE("events order queues") {
  Fixture f;
  const auto first = f.immediate();
  const auto second = f.immediate();
  auto* const value = f.device_memory<int>(1);
  *value = 5;
  const auto times_two = f.kernel("times_two");
  const auto plus_one = f.kernel("plus_one");
  REQUIRE_OK(set_argument(times_two, 0, value));
  REQUIRE_OK(set_argument(plus_one, 0, value));
  const ze_group_count_t one{1, 1, 1};
  auto gate = f.event();
  auto added = f.event();
  const auto doubled = f.event();
  REQUIRE_OK(zeCommandListAppendLaunchKernel(second, times_two, &one, doubled, 1, &added));
  REQUIRE_OK(zeCommandListAppendLaunchKernel(first, plus_one, &one, added, 1, &gate));
  REQUIRE_OK(zeEventHostSignal(gate));
  REQUIRE_OK(zeEventHostSynchronize(doubled, kForever));
  CHECK(*value == 12);
  REQUIRE_OK(zeCommandListAppendEventReset(first, added));
  REQUIRE_OK(f.finish(first));
  CHECK(zeEventQueryStatus(added) == ZE_RESULT_NOT_READY);
}

TEST_CASE("a synchronous list has ended its work when the call returns") {
  Fixture f;
  ze_command_queue_desc_t desc{ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  desc.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  ze_command_list_handle_t list = nullptr;
  REQUIRE_OK(zeCommandListCreateImmediate(f.context, f.device, &desc, &list));
  auto* const value = f.device_memory<int>(1);
  *value = 0;
  const auto kernel = f.kernel("plus_one");
  REQUIRE_OK(set_argument(kernel, 0, value));
  for (int i = 1; i <= 100; ++i) {
    REQUIRE_OK(f.launch(list, kernel));
    REQUIRE(*value == i);
  }
}

TEST_CASE("who was told of an end finds all of it done") {
  Fixture f;
  auto* const value = f.device_memory<int>(1);
  const auto kernel = f.kernel("plus_one");
  REQUIRE_OK(set_argument(kernel, 0, value));
  const auto event = f.event();
  const ze_group_count_t one{1, 1, 1};
  auto list = f.list();
  REQUIRE_OK(zeCommandListAppendLaunchKernel(list, kernel, &one, event, 0, nullptr));
  REQUIRE_OK(zeCommandListClose(list));
  for (int i = 0; i < 300; ++i) {
    const auto queue = f.queue();
    REQUIRE_OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    REQUIRE_OK(zeCommandQueueSynchronize(queue, kForever));
    REQUIRE_OK(zeEventQueryStatus(event));
    REQUIRE_OK(zeEventHostReset(event));
    REQUIRE_OK(zeCommandQueueDestroy(queue));

    const auto immediate = f.immediate();
    REQUIRE_OK(zeCommandListAppendLaunchKernel(immediate, kernel, &one, event, 0, nullptr));
    REQUIRE_OK(zeEventHostSynchronize(event, kForever));
    REQUIRE_OK(zeEventHostReset(event));
    REQUIRE_OK(zeCommandListDestroy(immediate));
  }
}

TEST_CASE("without shuffling commands run as given") {
  Fixture f;
  CHECK(doubled_and_counted(f, f.immediate(), kRounds, false) == kInOrderResult);
}

TEST_CASE("shuffling shows a missing barrier and respects one that is there") {
  setenv("ZE_CPU_SHUFFLE", "1", 1);
  Fixture f;
  CHECK(doubled_and_counted(f, f.immediate(), kRounds, false) != kInOrderResult);
  CHECK(doubled_and_counted(f, f.immediate(), kRounds, true) == kInOrderResult);
  CHECK(doubled_and_counted(f, f.immediate(kInOrder), kRounds, false) == kInOrderResult);
}

TEST_CASE("shuffling respects events") {
  setenv("ZE_CPU_SHUFFLE", "2", 1);
  Fixture f;
  const auto list = f.immediate();
  auto* const value = f.device_memory<int>(1);
  *value = 1;
  const auto times_two = f.kernel("times_two");
  const auto plus_one = f.kernel("plus_one");
  REQUIRE_OK(set_argument(times_two, 0, value));
  REQUIRE_OK(set_argument(plus_one, 0, value));
  const ze_group_count_t one{1, 1, 1};
  ze_event_handle_t before = nullptr;
  for (int i = 0; i < 2 * kRounds; ++i) {
    const auto after = f.event();
    REQUIRE_OK(zeCommandListAppendLaunchKernel(list, i % 2 == 0 ? times_two : plus_one, &one, after,
                                               before == nullptr ? 0 : 1, &before));
    before = after;
  }
  REQUIRE_OK(zeEventHostSynchronize(before, kForever));
  CHECK(*value == kInOrderResult);
}

TEST_CASE("recorded lists are shuffled too") {
  setenv("ZE_CPU_SHUFFLE", "3", 1);
  Fixture f;
  const auto queue = f.queue();
  // Each copy writes the next number of a row into the same place; the last one wins.
  auto* const numbers = f.device_memory<int>(16);
  auto* const place = f.device_memory<int>(1);
  std::iota(numbers, numbers + 16, 0);
  auto list = f.list();
  for (int i = 0; i < 16; ++i) {
    REQUIRE_OK(zeCommandListAppendMemoryCopy(list, place, numbers + i, 4, nullptr, 0, nullptr));
  }
  REQUIRE_OK(zeCommandListClose(list));
  std::set<int> winners;
  for (int round = 0; round < 20; ++round) {
    REQUIRE_OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    REQUIRE_OK(zeCommandQueueSynchronize(queue, kForever));
    winners.insert(*place);
  }
  CHECK(winners.size() > 1);
}
