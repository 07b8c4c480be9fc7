#pragma once

#include <memory>
#include <string_view>

#include "core/all_requests.hpp"
#include "core/rehearsal.hpp"
#include "cpu/backend.hpp"
#include "cpu/op_times.hpp"
#include "cpu/recorder.hpp"

namespace tilewright::cpu {

/// The CPU backend with profiles, in which each op is one record, under its name, and with
/// recordings.
class TimedCpuBackend final : public CpuBackend {
 public:
  using CpuBackend::CpuBackend;
  ~TimedCpuBackend() override { shut_down(); }

 private:
  void do_close() noexcept override;
#define TILEWRIGHT_DO(name, Request) void do_##name(const Request& request) override;
  TILEWRIGHT_OPS(TILEWRIGHT_DO)
#undef TILEWRIGHT_DO
  void do_copy_dtod(Allocation& dst, Allocation& src, std::uint64_t bytes, std::uint64_t dst_offset,
                    std::uint64_t src_offset) override;

  void do_begin_profile() override { times_.begin(); }
  Profile do_end_profile() override { return times_.end(); }

  void do_begin_recording() override { recorder_.begin(); }
  std::shared_ptr<RecordedWork> do_end_recording() override { return recorder_.end(); }
  std::shared_ptr<RecordedWork> do_drop_recording() noexcept override { return recorder_.end(); }
  void do_replay(RecordedWork& work) override;

  std::unique_ptr<Rehearsal> do_rehearse() override;

  /// op(request), timed under its kind where a profile is taken; kept instead where its thread
  /// records.
  template <class Request, class Op>
  void perform(std::string_view name, const Request& request, const Op& op) {
    const auto run = [this, name, op](const Request& r) {
      times_.time([&] { return kind_of(name, r); }, [&] { op(r); });
    };
    if (recorder_.records()) [[unlikely]]
      return recorder_.add([run, request] { run(request); });
    if (rehearsing_.has_this()) [[unlikely]]
      return op(request);
    run(request);
  }

  OpTimes times_;
  Recorder recorder_;
  RehearsingThreads rehearsing_;
};

}  // namespace tilewright::cpu
