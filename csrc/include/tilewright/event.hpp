#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "tilewright/export.hpp"

namespace tilewright {

class BackendState;
struct Session;

/// A place in a backend's queue: after what was queued when it was made. Work that is handed to the
/// device together with the last of that may count too.
///
/// - A value, cheap to copy. Letting go of one neither waits nor cancels anything.
/// - Every method may be called from any thread; several may wait for one event.
/// - It outlives the buffers, kernels and the backend itself. close() waits for what events and
///   reads were made of; after it an event is done, and wait() throws what close() met there.
/// - A wait in a forked child throws DeviceError where the device is a GPU.
class TILEWRIGHT_API Event {
 public:
  /// One that is done.
  Event() noexcept;
  ~Event();
  Event(const Event&);
  Event& operator=(const Event&);
  Event(Event&&) noexcept;
  Event& operator=(Event&&) noexcept;

  /// Whether that work is done. Hands it to the device where it still gathers and looks, but never
  /// waits for the device. Throws as wait() does.
  bool done() const;
  /// Returns when that work is done; throws what went wrong in it, each time, whoever else was told
  /// of it: DeviceLost where the device is gone.
  void wait() const;
  /// The same for at most this long: false where the time has passed before. Negative is
  /// InvalidArgument.
  bool wait_for(std::chrono::nanoseconds timeout) const;

 private:
  friend class Backend;
  using Deadline = std::chrono::steady_clock::time_point;

  Event(std::shared_ptr<BackendState> state, std::shared_ptr<Session> session,
        std::uint64_t place) noexcept;
  bool wait_until(Deadline deadline) const;

  std::shared_ptr<BackendState> state_;
  std::shared_ptr<Session> session_;
  std::uint64_t place_ = 0;
};

}  // namespace tilewright
