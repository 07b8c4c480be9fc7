#include "core/call.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

namespace {

/// Takes the state from one end of a change to the other, or back where the change throws.
class Change {
 public:
  Change(BackendState& state, ProfileState to) : state_(state), from_(state.profile), to_(to) {
    state_.profile = ProfileState::changing;
  }
  ~Change() {
    std::lock_guard lock(state_.mutex);
    state_.profile = done_ ? to_ : from_;
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  void done() { done_ = true; }

 private:
  BackendState& state_;
  ProfileState from_, to_;
  bool done_ = false;
};

}  // namespace

void Backend::begin_profile() {
  constexpr NotRecorded not_recorded{"take the profile of replay(), or begin it before record()"};
  Call call(*state_, "begin_profile", not_recorded);
  if (state_->profile != ProfileState::none) {
    call.invalid("a profile is already being taken; end_profile() it first");
  }
  Change change(*state_, ProfileState::running);
  call.checked();
  do_begin_profile();
  change.done();
}

Profile Backend::end_profile() {
  constexpr NotRecorded not_recorded{"end the recording first"};
  Call call(*state_, "end_profile", not_recorded);
  if (state_->profile != ProfileState::running) {
    call.invalid("no profile is being taken; begin_profile() one first");
  }
  Change change(*state_, ProfileState::none);
  call.checked();
  // Over even where the times cannot be had.
  change.done();
  return do_end_profile();
}

}  // namespace tilewright
