#include "core/recordings.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace tilewright {

namespace {
std::atomic<std::uint64_t> last_id{0};
/// How many times what is asked for a buffer may hold that is used again.
constexpr std::uint64_t most_excess = 4;
}  // namespace

std::shared_ptr<RecordingData> Recordings::begin() {
  auto data = std::make_shared<RecordingData>();
  data->id = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  data->thread = std::this_thread::get_id();
  all_.push_back(data);
  return under_way_ = std::move(data);
}

Recordings::Contents Recordings::end(std::shared_ptr<RecordedWork> work,
                                     std::uint64_t& active_bytes) {
  auto rest = std::make_shared<RecordingContents>();
  const std::shared_ptr<RecordingData> data = std::exchange(under_way_, nullptr);
  if (data->stage != RecordingData::Stage::under_way) {
    rest->work = std::move(work);
    return rest;
  }
  data->stage = RecordingData::Stage::ready;
  RecordingContents& contents = *data->contents;
  contents.scratch_bytes = work->scratch_bytes();
  active_bytes += contents.scratch_bytes;
  contents.work = std::move(work);
  rest->free.swap(contents.free);
  return rest;
}

Recordings::Contents Recordings::take(RecordingData& data, RecordingData::Stage stage,
                                      std::uint64_t& active_bytes, MemoryBudget& budget) noexcept {
  data.stage = stage;
  Contents contents = std::move(data.contents);
  data.contents = nullptr;
  if (!contents) return nullptr;
  active_bytes -= contents->scratch_bytes;
  for (auto& [allocation, use] : contents->uses) {
    if (!use.kept) {
      --allocation->named_;
      continue;
    }
    allocation->kept_ = false;
    if (allocation->handles_ != 0) continue;
    active_bytes -= allocation->bytes();
    budget.give_back(allocation->bytes());
  }
  std::erase_if(all_, [&](const auto& other) { return other.get() == &data; });
  return contents;
}

Recordings::Contents Recordings::drop(RecordingData& data, std::uint64_t& active_bytes,
                                      MemoryBudget& budget) {
  Contents contents = take(data, RecordingData::Stage::dropped, active_bytes, budget);
  if (under_way_.get() == &data) under_way_ = nullptr;
  return contents;
}

Recordings::Contents Recordings::close(std::uint64_t& active_bytes, MemoryBudget& budget) {
  Contents all;
  while (!all_.empty()) {
    const std::shared_ptr<RecordingData> data = all_.back();
    Contents contents = take(*data, RecordingData::Stage::closed, active_bytes, budget);
    contents->next = std::move(all);
    all = std::move(contents);
  }
  under_way_ = nullptr;
  return all;
}

void Recordings::note(const BufferRange& range, Buffer handle, std::string_view op) {
  RecordingContents* const contents = under_way_->contents.get();
  if (contents == nullptr) return;  // it broke
  Allocation& allocation = *range.allocation;
  if (contents->uses.contains(&allocation)) return;
  const bool made_here = allocation.made_in_ == under_way_->id;
  // So that freed() never allocates.
  if (made_here) contents->free.reserve(contents->uses.size() + 1);
  contents->uses.emplace(
      &allocation, RecordingContents::Use{made_here ? range.allocation : nullptr, handle, op});
  if (made_here) {
    allocation.kept_ = true;
  } else {
    ++allocation.named_;
  }
}

void Recordings::made(Allocation& allocation) const { allocation.made_in_ = under_way_->id; }

BufferRange Recordings::again(std::uint64_t bytes) {
  RecordingContents* const contents = under_way_->contents.get();
  if (contents == nullptr) return {};
  auto& free = contents->free;
  // A few bytes do not keep a large one from what needs it, and what ends within a word is bound
  // only where its memory ends.
  const std::uint64_t most = bytes % sizeof(std::uint32_t) == 0 ? most_excess * bytes : bytes;
  auto found = free.end();
  for (auto one = free.begin(); one != free.end(); ++one) {
    const std::uint64_t own = (*one)->bytes();
    // Of equal ones the last, which is nearest.
    if (own >= bytes && own <= most && (found == free.end() || own <= (*found)->bytes())) {
      found = one;
    }
  }
  if (found == free.end()) return {};
  BufferRange taken(std::move(*found), 0, bytes);
  free.erase(found);
  return taken;
}

std::string_view Recordings::needs(const Allocation& allocation) const {
  if (!under_way_ || allocation.named_ == 0 || allocation.handles_ != 1) return {};
  const RecordingContents* const contents = under_way_->contents.get();
  if (contents == nullptr) return {};
  const auto use = contents->uses.find(const_cast<Allocation*>(&allocation));
  return use == contents->uses.end() || use->second.kept ? std::string_view() : use->second.op;
}

bool Recordings::freed(const AllocationRef& allocation, Buffer handle, Contents& broken,
                       std::uint64_t& active_bytes, MemoryBudget& budget) noexcept {
  while (allocation->named_ != 0) {
    const auto names_it = [&](const std::shared_ptr<RecordingData>& data) {
      const auto use = data->contents->uses.find(allocation.get());
      return use != data->contents->uses.end() && !use->second.kept;
    };
    const std::shared_ptr<RecordingData> data = *std::ranges::find_if(all_, names_it);
    data->freed = handle;
    data->freed_op = data->contents->uses.find(allocation.get())->second.op;
    Contents contents = take(*data, RecordingData::Stage::broken, active_bytes, budget);
    Contents* last = &broken;
    while (*last) last = &(*last)->next;
    *last = std::move(contents);
  }
  if (!allocation->kept_) return false;
  if (under_way_ && under_way_->id == allocation->made_in_ && !allocation->seen_by_host_) {
    under_way_->contents->free.push_back(allocation);
  }
  return true;
}

}  // namespace tilewright
