#include "core/all_requests.hpp"
#include "core/recorded_work.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

// What a backend does with an op that it does not provide.
namespace tilewright {

namespace {
[[noreturn]] void lacks(std::string_view backend, std::string_view op) {
  throw Unsupported(text(op, ": the ", backend, " backend does not have this op"));
}
}  // namespace

std::byte* Backend::do_host_memory(Allocation&) const { return nullptr; }

#define TILEWRIGHT_LACKS(name, Request) \
  void Backend::do_##name(const Request& request) { lacks(name_, call_of(#name, request)); }
TILEWRIGHT_OPS(TILEWRIGHT_LACKS)
#undef TILEWRIGHT_LACKS

std::shared_ptr<CompiledKernel> Backend::do_create_kernel(const KernelSource&) {
  throw Unsupported(text("create_kernel: the ", name_,
                         " backend takes no kernels of one's own; use a GPU backend"));
}
void Backend::do_launch_kernel(const LaunchRequest&) { lacks(name_, "launch_kernel"); }
void Backend::do_begin_profile() { lacks(name_, "begin_profile"); }
Profile Backend::do_end_profile() { lacks(name_, "end_profile"); }
void Backend::do_begin_recording() { lacks(name_, "record"); }
std::shared_ptr<RecordedWork> Backend::do_end_recording() { return nullptr; }
std::shared_ptr<RecordedWork> Backend::do_drop_recording() noexcept { return nullptr; }
void Backend::do_replay(RecordedWork&) { lacks(name_, "replay"); }

}  // namespace tilewright
