#include "tilewright/recording.hpp"

#include <utility>

#include "core/call.hpp"
#include "core/fork.hpp"
#include "core/state.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

using Stage = RecordingData::Stage;

Recording::Recording() noexcept = default;
Recording::Recording(std::shared_ptr<BackendState> state,
                     std::shared_ptr<RecordingData> data) noexcept
    : state_(std::move(state)), data_(std::move(data)) {}
Recording::~Recording() { drop(); }
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&& other) noexcept {
  if (this == &other) return *this;
  drop();
  state_ = std::move(other.state_);
  data_ = std::move(other.data_);
  return *this;
}

bool Recording::is_recording() const noexcept {
  if (!data_) return false;
  std::lock_guard lock(state_->mutex);
  return state_->recordings.under_way() == data_.get();
}

void Recording::end() {
  if (!data_) throw InvalidArgument("end: nothing was recorded; begin with the backend's record()");
  Call call(*state_, "end", RunAtOnce());
  if (state_->recordings.under_way() != data_.get()) {
    call.invalid("this recording is not under way; record() begins another one");
  }
  if (state_->recordings.here() == nullptr) {
    call.invalid("another thread began this recording, which ends it too");
  }
  call.checked();
  try {
    std::shared_ptr<RecordedWork> work = state_->backend.do_end_recording();
    Recordings::Contents rest;
    std::lock_guard lock(state_->mutex);
    if (!work || state_->recordings.under_way() != data_.get()) {
      throw InvalidArgument("end: the recording was dropped meanwhile; record() another one");
    }
    rest = state_->recordings.end(std::move(work), state_->active_bytes);
  } catch (...) {
    drop();
    throw;
  }
}

void Recording::replay() {
  if (!data_) {
    throw InvalidArgument("replay: nothing was recorded; begin with the backend's record()");
  }
  constexpr NotRecorded not_recorded{"replay() it after end(), one recording after the other"};
  Call call(*state_, "replay", not_recorded);
  std::shared_ptr<RecordedWork> work;
  switch (data_->stage) {
    case Stage::under_way:
      call.invalid("the recording is still under way in another thread, which must end() it first");
    case Stage::dropped:
      call.invalid("the recording was dropped; record() another one");
    case Stage::closed:
      throw NotInitialized("replay: the backend was closed since this was recorded; record again");
    case Stage::broken:
      call.invalid(text("buffer ", static_cast<std::uint64_t>(data_->freed), ", which ",
                        data_->freed_op,
                        " uses in this recording, was freed; record again with buffers that live"));
    case Stage::ready:
      work = data_->contents->work;
  }
  call.checked();
  state_->backend.do_replay(*work);
}

void Recording::drop() noexcept {
  if (!data_) return;
  const InCore in_core;
  // Let go of without the lock.
  Recordings::Contents contents;
  std::shared_ptr<RecordedWork> work;
  {
    std::unique_lock lock(state_->mutex);
    // What close() has not taken yet it will take.
    if (!state_->enter(lock)) return;
    if (state_->recordings.under_way() == data_.get()) {
      // An op is kept as a whole.
      state_->recorded_call_over.wait(
          lock, [&] { return data_->calls == 0 || data_->thread == std::this_thread::get_id(); });
    }
    if (state_->recordings.under_way() == data_.get()) work = state_->backend.do_drop_recording();
    contents = state_->recordings.drop(*data_, state_->active_bytes, *state_->budget);
  }
  work.reset();
  contents.reset();
  state_->leave();
}

Recording Backend::record() {
  constexpr NotRecorded not_recorded{"end() the recording that is under way first"};
  Call call(*state_, "record", not_recorded);
  if (state_->recordings.under_way() != nullptr) {
    call.invalid("another thread records on this backend; one recording at a time");
  }
  std::shared_ptr<RecordingData> data = state_->recordings.begin();
  call.checked();
  try {
    do_begin_recording();
  } catch (...) {
    std::lock_guard lock(state_->mutex);
    state_->recordings.drop(*data, state_->active_bytes, *state_->budget);
    throw;
  }
  return Recording(state_, std::move(data));
}

}  // namespace tilewright
