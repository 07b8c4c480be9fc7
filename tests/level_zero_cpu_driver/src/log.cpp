#include "log.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "device.hpp"
#include "object.hpp"
#include "settings.hpp"
#include "ze_cpu.h"

namespace ze_cpu {
namespace {

/// The call that shall fail: the nth with this name, or the nth of all if the name is empty.
struct Fault {
  std::string call;
  uint64_t nth = 0;
  ze_result_t result = ZE_RESULT_SUCCESS;
};

struct Calls {
  std::atomic<uint64_t> count{0};
  std::atomic<bool> armed{false};
  std::mutex mutex;
  Fault fault;
  std::string failed;
};

/// "17", "zeMemAllocDevice" or "zeMemAllocDevice:3".
Fault fault_named(const std::string& what, ze_result_t result) {
  Fault fault;
  fault.result = result;
  const size_t colon = what.find(':');
  const bool is_number = what.find_first_not_of("0123456789") == std::string::npos;
  const std::string number = is_number                    ? what
                             : colon == std::string::npos ? "1"
                                                          : what.substr(colon + 1);
  if (!is_number) fault.call = what.substr(0, colon);
  fault.nth = std::strtoull(number.c_str(), nullptr, 10);
  return fault;
}

Calls& calls() {
  static Calls* const instance = [] {
    auto* const made = new Calls;
    if (!settings().fail_call.empty()) {
      made->fault = fault_named(settings().fail_call, settings().fail_result);
      made->armed = made->fault.nth > 0;
    }
    return made;
  }();
  return *instance;
}

std::string& error_of_this_thread() {
  thread_local std::string message;
  return message;
}

struct ReportAtEnd {
  ~ReportAtEnd() {
    if (settings().report_file.empty()) return;
    if (std::FILE* file = std::fopen(settings().report_file.c_str(), "w")) {
      std::fprintf(file, "calls %llu\n", static_cast<unsigned long long>(calls().count.load()));
      if (!calls().failed.empty()) std::fprintf(file, "failed %s\n", calls().failed.c_str());
      std::fputs(live_objects().c_str(), file);
      std::fclose(file);
    }
  }
} const report_at_end;

}  // namespace

ze_result_t report(const char* call, const Failure& failure) {
  error_of_this_thread() = text(call, ": ", failure.message);
  if (settings().log) {
    complain(text(call, " answers ", name_of(failure.result), ": ", failure.message));
  }
  return failure.result;
}

void complain(const std::string& message) { std::fprintf(stderr, "ze_cpu: %s\n", message.c_str()); }

const std::string& last_error() { return error_of_this_thread(); }

ze_result_t count_call(const char* call) {
  Calls& state = calls();
  ++state.count;
  if (!state.armed) return ZE_RESULT_SUCCESS;
  const std::lock_guard lock(state.mutex);
  Fault& fault = state.fault;
  if (!state.armed || (!fault.call.empty() && fault.call != call) || --fault.nth > 0) {
    return ZE_RESULT_SUCCESS;
  }
  state.armed = false;
  state.failed = call;
  if (fault.result == ZE_RESULT_ERROR_DEVICE_LOST) lose_devices();
  report(call, {fault.result, "failed because a test asked for it"});
  return fault.result;
}

}  // namespace ze_cpu

extern "C" {

uint64_t zeCpuCallCount(void) { return ze_cpu::calls().count; }

void zeCpuFailCall(const char* what, ze_result_t result) {
  ze_cpu::Calls& state = ze_cpu::calls();
  const std::lock_guard lock(state.mutex);
  state.fault = ze_cpu::fault_named(what == nullptr ? "0" : what, result);
  state.armed = state.fault.nth > 0;
  state.failed.clear();
}

size_t zeCpuFailedCall(char* name, size_t size) {
  ze_cpu::Calls& state = ze_cpu::calls();
  const std::lock_guard lock(state.mutex);
  if (size > 0) std::snprintf(name, size, "%s", state.failed.c_str());
  return state.failed.size();
}

size_t zeCpuLiveObjects(char* lines, size_t size) {
  const std::string live = ze_cpu::live_objects();
  if (size > 0) std::snprintf(lines, size, "%s", live.c_str());
  return live.size();
}

size_t zeCpuLastError(char* message, size_t size) {
  const std::string& error = ze_cpu::last_error();
  if (size > 0) std::snprintf(message, size, "%s", error.c_str());
  return error.size();
}

void zeCpuLoseDevices(void) { ze_cpu::lose_devices(); }

}  // extern "C"
