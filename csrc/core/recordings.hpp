#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/memory_budget.hpp"
#include "core/recorded_work.hpp"
#include "core/requests.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

/// What a recording keeps alive. Let go of without a lock.
struct RecordingContents {
  struct Use {
    AllocationRef kept;  ///< null for what was there before
    Buffer handle;       ///< that it was named by first, in this op
    std::string_view op;
  };
  std::unordered_map<Allocation*, Use> uses;
  std::vector<AllocationRef> free;  ///< made and freed in it, for the next buffers made in it
  std::shared_ptr<RecordedWork> work;
  std::uint64_t scratch_bytes = 0;  ///< counted as active
  std::shared_ptr<RecordingContents> next;
};

/// A recording, under the lock of its backend's state.
struct RecordingData {
  enum class Stage : std::uint8_t { under_way, ready, broken, closed, dropped };

  std::uint64_t id = 0;
  std::thread::id thread;
  Stage stage = Stage::under_way;
  int calls = 0;  ///< of its thread, inside
  std::shared_ptr<RecordingContents> contents = std::make_shared<RecordingContents>();
  Buffer freed = Buffer::null;  ///< what broke it
  std::string_view freed_op;
};

/// All recordings of a backend, and what buffers have to do with them. Not synchronised: the
/// state's lock is held. What is returned is to be let go of without it.
class Recordings {
 public:
  using Contents = std::shared_ptr<RecordingContents>;

  std::shared_ptr<RecordingData> begin();
  RecordingData* under_way() const { return under_way_.get(); }
  /// Where this thread records.
  RecordingData* here() const {
    return under_way_ && under_way_->thread == std::this_thread::get_id() ? under_way_.get()
                                                                          : nullptr;
  }
  /// The one under way is ready; where it broke meanwhile, its contents are returned.
  Contents end(std::shared_ptr<RecordedWork> work, std::uint64_t& active_bytes);
  Contents drop(RecordingData& data, std::uint64_t& active_bytes, MemoryBudget& budget);
  /// close(): takes the contents of all.
  Contents close(std::uint64_t& active_bytes, MemoryBudget& budget);

  /// The recording under way uses a buffer, by this handle.
  void note(const BufferRange& range, Buffer handle, std::string_view op);
  /// A buffer is made in the recording under way.
  void made(Allocation& allocation) const;
  /// Of one that was made and freed in the recording under way, the smallest that has room; null
  /// where none has, or all are much larger.
  BufferRange again(std::uint64_t bytes);
  /// What refuses that a handle is freed: the op of the recording under way that uses a buffer from
  /// before by its last handle. Empty where nothing does.
  std::string_view needs(const Allocation& allocation) const;
  /// The last handle of an allocation is gone. Whether it is still counted, since a recording keeps
  /// it; the contents of recordings that cannot be replayed without it are added to `broken`.
  bool freed(const AllocationRef& allocation, Buffer handle, Contents& broken,
             std::uint64_t& active_bytes, MemoryBudget& budget) noexcept;
  static void seen_by_host(Allocation& allocation) { allocation.seen_by_host_ = true; }

 private:
  Contents take(RecordingData& data, RecordingData::Stage stage, std::uint64_t& active_bytes,
                MemoryBudget& budget) noexcept;

  std::vector<std::shared_ptr<RecordingData>> all_;  // that have contents
  std::shared_ptr<RecordingData> under_way_;
};

}  // namespace tilewright
