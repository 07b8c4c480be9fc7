// What went wrong last, and the calls that a test asked to fail.
#pragma once

#include <string>

#include "failure.hpp"

namespace ze_cpu {

/// Keeps the message for this thread's zeDriverGetLastErrorDescription; shown with ZE_CPU_LOG.
ze_result_t report(const char* call, const Failure& failure);
/// For what the program did to memory: shown always.
void complain(const std::string& message);
const std::string& last_error();

/// Counts a call. The result to answer with if this is the one that shall fail, else success.
ze_result_t count_call(const char* call);

}  // namespace ze_cpu
