// The edge of the driver: counts a call, lets a test fail it, and turns a Failure into its result.
#pragma once

#include <level_zero/ze_api.h>

#include <cstddef>
#include <new>
#include <string_view>

#include "log.hpp"

namespace ze_cpu {

template <size_t N>
struct CallName {
  constexpr CallName(const char (&name)[N]) {
    for (size_t i = 0; i < N; ++i) text[i] = name[i];
  }
  constexpr bool ends_life() const {
    const std::string_view view(text, N - 1);
    return view.ends_with("Destroy") || view == "zeMemFree";
  }
  char text[N];
};

template <CallName kName, auto kFunction>
struct Entry;

template <CallName kName, typename... Arguments, ze_result_t (*kFunction)(Arguments...)>
struct Entry<kName, kFunction> {
  static ze_result_t call(Arguments... arguments) {
    try {
      const ze_result_t asked = count_call(kName.text);
      if (asked != ZE_RESULT_SUCCESS) {
        if constexpr (kName.ends_life()) kFunction(arguments...);
        return asked;
      }
      return kFunction(arguments...);
    } catch (const Failure& failure) {
      return report(kName.text, failure);
    } catch (const std::bad_alloc&) {
      return report(kName.text, {ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no host memory is left"});
    }
  }
};

/// Stands for calls of any signature: the arguments are not looked at.
template <CallName kName>
ze_result_t unsupported() {
  count_call(kName.text);
  return report(kName.text,
                {ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "this driver does not have the call"});
}

}  // namespace ze_cpu
