#include <algorithm>
#include <cstring>
#include <utility>

#include "core/text.hpp"
#include "webgpu/objects.hpp"

// Places in the queue, which are numbers of submissions, and downloads that go on after their
// calls.
namespace tilewright::webgpu {

namespace {

/// Refused submissions whose errors are kept for those that ask for their places.
constexpr std::size_t most_refusals = 100;

}  // namespace

std::uint64_t Device::mark() {
  const Turn turn(*this);
  check_usable();
  return mark_here();
}

std::uint64_t Device::mark_here() {
  const std::uint64_t place = submissions_ + (gathers() ? 1 : 0);
  if (place > marked_ && !gathers()) progress_->follow(api_, queue_, place);
  marked_ = std::max(marked_, place);
  return place;
}

void Device::flush() {
  const Turn turn(*this);
  check_usable();
  submit();
}

void Device::note_refusal(std::uint64_t place, std::string message) {
  if (refusals_.size() == most_refusals) refusals_.pop_front();
  refusals_.push_back({place, std::move(message)});
}

void Device::throw_refusal(std::uint64_t first, std::uint64_t last) const {
  for (const Refusal& refusal : refusals_) {
    if (first <= refusal.place && refusal.place <= last) throw DeviceError(refusal.message);
  }
}

/// What goes wrong is left to be thrown.
bool Device::look_for(std::uint64_t place, Clock::time_point deadline) {
  bool reached = false;
  look_until(
      [&] {
        if (!progress_->reached(place)) return false;
        fill_downloads();
        const Turn turn(*this);
        return reached = !reads_.holds(place);
      },
      deadline);
  return reached;
}

bool Device::reach(std::uint64_t place, Clock::time_point deadline) {
  {
    const Turn turn(*this);
    check_usable();
    if (place > submissions_) submit();
  }
  const bool reached = look_for(place, deadline);
  if (!reached) look_for_loss();
  const Turn turn(*this);
  check_usable();
  throw_refusal(place, place);
  throw_failure("queued work");
  if (reached && place == submissions_ && !gathers()) queue_is_empty();
  return reached;
}

/// A block with room. Lets go of the lock while it waits for one.
Device::DownloadBlocks::Block& Device::download_room(Turn& turn, std::uint64_t bytes) {
  for (;;) {
    const auto make = [&](std::uint64_t size) {
      auto staging = std::make_unique<Staging>(WGPUMapMode_Read);
      staging->create(api_, device_, size);
      try {
        throw_failure("a download");
      } catch (...) {
        staging->release();
        throw;
      }
      return staging;
    };
    const auto drop = [](const std::unique_ptr<Staging>& staging) { staging->release(); };
    if (auto* block = reads_.room(bytes, make, drop)) return *block;
    const std::uint64_t oldest = reads_.first_place();
    if (oldest > submissions_) submit();
    turn.unlock();
    look_for(oldest, Clock::time_point::max());
    turn.lock();
    check_usable();
  }
}

std::uint64_t Device::start_download(HostRead read, gpu::DeviceBuffer& src, std::uint64_t offset) {
  Turn turn(*this);
  check_usable();
  const std::uint64_t number = reads_.next_number();
  std::uint64_t first = 0;
  try {
    while (!read.dst.empty()) {
      const auto words =
          gpu::DownloadWords::first(offset, read.dst.size(), DownloadBlocks::most_block);
      DownloadBlocks::Block& block = download_room(turn, words.bytes);
      auto piece = reads_.piece(block, words.skip, read.dst.first(words.count), read, number);
      if (block.used == 0) gathering_.push_back(&block);
      gathered_work_ += encoding_.copy(of(src).handle, words.offset, block.staging->buffer(),
                                       block.used, words.bytes);
      const std::uint64_t place = submissions_ + 1;
      if (first == 0) first = place;
      reads_.add(std::move(piece), words.bytes, place);
      offset += words.count;
      read.dst = read.dst.subspan(words.count);
      // A long one is on its way while the next is queued.
      if (block.used >= DownloadBlocks::most_block) submit();
    }
    flush_if_worthwhile();
    throw_refusal(first, submissions_ + 1);
    return mark_here();
  } catch (...) {
    if (turn.owns_lock()) turn.unlock();
    std::lock_guard alone(filling_mutex_);  // nobody writes to it once this has thrown
    turn.lock();
    reads_.forget(number);
    throw;
  }
}

/// Asks for the blocks that the submission copies to.
void Device::map_downloads() {
  for (DownloadBlocks::Block* block : gathering_)
    block->staging->map(block->used, last_submission_);
  if (!gathering_.empty() || marked_ >= submissions_) progress_->follow(api_, queue_, submissions_);
  gathering_.clear();
  reads_.stop_sharing();
}

/// Brings what is mapped to where it belongs. Several threads may ask; one does it, and the others
/// then find it done.
void Device::fill_downloads() {
  // Their owners go without a lock.
  std::vector<DownloadBlocks::Piece> ready;
  DownloadBlocks::Pieces done;
  std::lock_guard alone(filling_mutex_);
  {
    const Turn turn(*this);
    for (const auto& piece : reads_.pieces()) {
      if (piece.place > submissions_ || piece.block->staging->pending()) break;
      ready.push_back(piece);
    }
  }
  for (const auto& piece : ready) {
    if (const std::byte* data = piece.block->staging->data()) {
      if (!piece.dst.empty()) std::memcpy(piece.dst.data(), data + piece.at, piece.dst.size());
    }
  }
  const Turn turn(*this);
  for (const auto& piece : ready) {
    if (!piece.block->staging->mapped() && !failures_->lost()) {
      note_refusal(piece.place, "webgpu: a download: the staging buffer could not be mapped");
    }
  }
  done = reads_.take(ready.size(), [](DownloadBlocks::Block& block) {
    if (block.staging->mapped()) block.staging->unmap();
  });
}

}  // namespace tilewright::webgpu
