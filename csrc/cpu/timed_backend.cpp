#include "cpu/timed_backend.hpp"

#include <mutex>

#include "core/all_requests.hpp"

namespace tilewright::cpu {

void TimedCpuBackend::do_close() noexcept {
  times_.forget();
  recorder_.end();
  CpuBackend::do_close();
}

// Planning here is running, which takes nothing on operands of a few bytes; it is not timed.
std::unique_ptr<Rehearsal> TimedCpuBackend::do_rehearse() {
  class OnItsMemory final : public Rehearsal {
   public:
    explicit OnItsMemory(TimedCpuBackend& backend) : backend_(backend) {
      backend_.rehearsing_.enter();
    }
    ~OnItsMemory() override { backend_.rehearsing_.leave(); }
    AllocationRef operand(std::uint64_t bytes) override { return backend_.do_alloc(bytes); }

   private:
    TimedCpuBackend& backend_;
  };
  return std::make_unique<OnItsMemory>(*this);
}

#define TILEWRIGHT_PERFORM(name, Request)                                            \
  void TimedCpuBackend::do_##name(const Request& request) {                          \
    perform(#name, request, [this](const Request& r) { CpuBackend::do_##name(r); }); \
  }
TILEWRIGHT_OPS(TILEWRIGHT_PERFORM)
#undef TILEWRIGHT_PERFORM

void TimedCpuBackend::do_copy_dtod(Allocation& dst, Allocation& src, std::uint64_t bytes,
                                   std::uint64_t dst_offset, std::uint64_t src_offset) {
  if (!recorder_.records()) {
    return CpuBackend::do_copy_dtod(dst, src, bytes, dst_offset, src_offset);
  }
  recorder_.add(
      [this, to = dst.shared_from_this(), from = src.shared_from_this(), bytes, dst_offset,
       src_offset] { CpuBackend::do_copy_dtod(*to, *from, bytes, dst_offset, src_offset); });
}

void TimedCpuBackend::do_replay(RecordedWork& work) {
  auto& recording = static_cast<CpuRecording&>(work);
  const std::lock_guard lock(recording.turn);
  for (const auto& run : recording.calls) run();
}

}  // namespace tilewright::cpu
