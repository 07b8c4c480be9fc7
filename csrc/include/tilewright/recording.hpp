#pragma once

#include <memory>

#include "tilewright/export.hpp"

namespace tilewright {

class BackendState;
struct RecordingData;

/// Work of a backend that is checked and planned once and then queued as often as one likes, on the
/// same buffers with what they hold by then:
///
///   Recording step = backend.record();
///   backend.gemm(...);  // kept instead of run
///   backend.unary(...);
///   step.end();
///   step.replay();
///
/// - From record() to end() the ops and copy_dtod calls of that thread are kept. Its buffers,
///   views, kernels and numbers are made at once, as are all calls of other threads. Calls that
///   wait, copy from or to the host, or take a profile are InvalidArgument.
/// - Buffers that are made meanwhile belong to the recording too: they may be freed at any time,
///   and live as long as it does, counted in memory_limit with the scratch of its ops. Those from
///   before must stay: free() refuses them meanwhile, and once one was freed after end(), replay()
///   throws InvalidArgument and the recording has let go of all it kept. Kernels may be freed.
/// - An owner, movable. Dropping one that is under way ends it; work that was replayed still runs.
class TILEWRIGHT_API Recording {
 public:
  /// Of nothing: replay() throws InvalidArgument.
  Recording() noexcept;
  /// Drops it.
  ~Recording();
  Recording(Recording&& other) noexcept;
  Recording& operator=(Recording&& other) noexcept;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Whether it is under way: record() was called, and neither end() nor drop() yet.
  bool is_recording() const noexcept;
  /// Ends it, in the thread that began it; in another, and where it is not under way, that is
  /// InvalidArgument and nothing changes. Where it throws anything else, the recording is dropped.
  void end();
  /// Queues all that was recorded, in its order, as one op: asynchronous, after what was queued
  /// before. Nothing is checked or planned again. May be called from any thread. NotInitialized
  /// where the backend was closed. Where the device refuses a part of it, what comes before that
  /// part is queued.
  void replay();
  /// Lets go of all that it keeps; one that is under way ends, behind the op that its thread is in.
  void drop() noexcept;

 private:
  friend class Backend;
  Recording(std::shared_ptr<BackendState> state, std::shared_ptr<RecordingData> data) noexcept;

  std::shared_ptr<BackendState> state_;
  std::shared_ptr<RecordingData> data_;
};

}  // namespace tilewright
