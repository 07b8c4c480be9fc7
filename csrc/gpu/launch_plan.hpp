#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/call_key.hpp"
#include "core/requests.hpp"
#include "gpu/device.hpp"

// What an op comes to on a device, as a value: launches on places that are filled in at each call.
namespace tilewright::gpu {

/// Where an operand starts. Offsets of a plan are from here on.
struct OperandPlace {
  const DeviceBuffer* buffer;  ///< null for an operand that is not there
  std::uint64_t offset;
};

/// All that a plan follows from: the op, the values of its request, and how its operands lie to
/// each other. Requests whose keys do not fit are planned anew each time.
class PlanKey : public CallKey {
 public:
  using CallKey::add;

  PlanKey() = default;
  explicit PlanKey(std::uint64_t op) { add(op); }

  /// Which operands share a buffer, and how far apart they start in it.
  void add(std::span<const OperandPlace> places) {
    constexpr std::size_t bits = 5, of_a_word = 64 / bits, none = 31;
    std::size_t i = 0;
    do {
      std::uint64_t shared = 1;
      const std::size_t end = std::min(places.size(), i + of_a_word);
      for (; i < end; ++i) {
        const OperandPlace& place = places[i];
        std::size_t first = 0;
        while (places[first].buffer != place.buffer) ++first;
        if (place.buffer == nullptr) first = none;
        shared = shared << bits | first;
        if (first < i) [[unlikely]]
          add(place.offset - places[first].offset);
      }
      add(shared);
    } while (i < places.size());
  }
};

struct LaunchPlan {
  static constexpr std::size_t most_scratch = 4, most_bindings = 16, most_params = 256;
  static constexpr std::uint32_t of_faults = ~std::uint32_t{0};

  struct Slot {
    std::uint32_t place;  ///< an operand's, behind those a scratch buffer's, or of_faults
    std::uint64_t offset;
    std::uint64_t bytes;  ///< or as many as its buffer has from there on
  };
  struct Step {
    std::shared_ptr<const Pipeline> pipeline;
    std::array<std::uint32_t, 3> grid;
    std::size_t slots, params, params_bytes;  ///< how many slots, which follow those of the step
                                              ///< before; where its parameters start
  };
  std::vector<Step> steps;
  std::vector<Slot> slots;
  std::vector<std::byte> params;
  std::vector<std::uint64_t> scratch;                        ///< bytes of each
  std::vector<std::shared_ptr<const ProgramData>> programs;  ///< keys have only their hashes
  bool may_fault = false;                                    ///< a step binds the faults' words
};

class Faults;
class Recorder;

/// Notes what an op of this thread launches while it is planned; one at a time.
class PlanCapture {
 public:
  PlanCapture(Recorder& recorder, Faults& faults, std::span<const OperandPlace> operands);
  ~PlanCapture();
  PlanCapture(const PlanCapture&) = delete;
  PlanCapture& operator=(const PlanCapture&) = delete;

  /// The one of this thread, or null.
  static PlanCapture* of_thread() noexcept;

  void note(const Launch& launch);
  void note_scratch(const AllocationRef& taken);
  /// What follows depends on more than the request: on how much memory is free, or on contents.
  void drop() noexcept { is_whole_ = false; }

  /// Null where there is nothing to keep.
  std::shared_ptr<LaunchPlan> take();

 private:
  struct Scratch {
    const DeviceBuffer* buffer;
    std::weak_ptr<Allocation> taken;
  };
  Recorder& recorder_;
  Faults& faults_;
  std::span<const OperandPlace> operands_;
  std::vector<Scratch> scratch_;
  std::shared_ptr<LaunchPlan> plan_ = std::make_shared<LaunchPlan>();
  bool is_whole_ = true;
};

}  // namespace tilewright::gpu
