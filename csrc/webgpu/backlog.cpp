#include "webgpu/backlog.hpp"

#include <system_error>
#include <thread>
#include <utility>

#include "webgpu/objects.hpp"

// Calls that launch in quick succession leave the encoding and the submissions to a thread: both
// cost them more than all else that a launch is.
namespace tilewright::webgpu {

namespace {

/// So long the thread waits for more before it lets what has gathered go out and gives the encoder
/// back.
constexpr std::chrono::microseconds longest_pause{50};

}  // namespace

void Device::pass_on_if_worthwhile() {
  if (gathered_work_ < enough_work_) return flush_if_worthwhile();
  if (timestamps_ || debug_) return submit();
  if (!encoder_thread_ && may_have_encoder_thread_) {
    may_have_encoder_thread_ = false;
    try {
      if (std::thread::hardware_concurrency() > 1) {
        encoder_thread_ = std::make_unique<EncoderThread>([this] { serve(); });
      }
    } catch (const std::system_error&) {
      // No more threads: the calls submit.
    }
  }
  if (!encoder_thread_) return submit();
  encoder_thread_->hand_over();
}

void Device::take_encoder_back() {
  if (!encoder_thread_ || fork_generation_ != fork_generation()) return;
  encoder_thread_->take_back();
  encode_backlog();
}

void Device::encode_backlog() {
  while (!backlog_.is_empty()) encode_first();
}

void Device::keep_late_failure() noexcept {
  if (!late_failure_) late_failure_ = std::current_exception();
  has_late_failure_ = true;
}

void Device::encode_first() noexcept {
  backlog_.expect_second();
  const Backlog::Launch& launch = backlog_.first();
  const ComputePipeline& pipeline = *launch.pipeline;
  bool is_taken = false;
  try {
    // A lost device does nothing more.
    if (!failures_->lost()) {
      if (pipeline.params_in_uniforms && uniforms_->full()) submit();
      const auto params = std::span(launch.params).first(launch.params_bytes);
      encoding_.use(&pipeline, pipeline.handle, launch.group);
      if (pipeline.params_in_uniforms) {
        encoding_.set_params(*uniforms_, uniforms_->add(params));
      } else {
        encoding_.set_params(params);
      }
      gathered_work_ += encoding_.dispatch(launch.grid);
    }
    backlog_.take();
    is_taken = true;
    if (is_worthwhile()) submit();
  } catch (...) {
    keep_late_failure();
    if (!is_taken) backlog_.take();
  }
}

void Device::serve() noexcept {
  const Failures::OfThisThread failures(*failures_);
  const auto send = [&] {
    try {
      submit();
    } catch (...) {
      keep_late_failure();
    }
  };
  // It is handed over when enough has gathered.
  send();
  Clock::time_point since = Clock::now();
  for (bool was_empty = false; !encoder_thread_->is_asked();) {
    if (!backlog_.is_empty()) {
      encode_first();
      was_empty = false;
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (!std::exchange(was_empty, true)) {
      since = now;
    } else if (now - since >= longest_pause) {
      if (gathers() && !failures_->lost()) {
        send();
        was_empty = false;
        continue;
      }
      // What is added at this moment stays until the next call.
      return;
    }
    std::this_thread::yield();
  }
}

}  // namespace tilewright::webgpu
