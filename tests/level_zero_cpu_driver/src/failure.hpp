// How the driver refuses: an exception with a result code and a sentence, turned into a return
// value at the edge (entry.hpp).
#pragma once

#include <level_zero/ze_api.h>

#include <sstream>
#include <string>

namespace ze_cpu {

struct Failure {
  ze_result_t result;
  std::string message;
};

template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

template <typename... Parts>
[[noreturn]] void fail(ze_result_t result, const Parts&... parts) {
  throw Failure{result, text(parts...)};
}

template <typename Pointer>
void require_pointer(Pointer pointer, const char* name) {
  if (pointer == nullptr) fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, name, " is null");
}

template <typename Descriptor>
void require_descriptor(const Descriptor* descriptor, ze_structure_type_t type, const char* name) {
  require_pointer(descriptor, name);
  if (descriptor->stype != type) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, name, " has stype ", descriptor->stype, ", expected ",
         type);
  }
}

}  // namespace ze_cpu
