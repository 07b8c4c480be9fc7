#pragma once

// The library is built with the C++11 ABI of libstdc++ and without its debug mode, which lay out
// strings and containers in other ways: a program with them would crash in its first call.
#if defined(_GLIBCXX_DEBUG)
#error "tilewright cannot be used with _GLIBCXX_DEBUG: leave it out, or use _GLIBCXX_ASSERTIONS"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#error "tilewright cannot be used with _GLIBCXX_USE_CXX11_ABI=0: leave it out"
#endif

#if defined(_WIN32)
#if defined(TILEWRIGHT_BUILDING)
#define TILEWRIGHT_API __declspec(dllexport)
#else
#define TILEWRIGHT_API __declspec(dllimport)
#endif
#else
#define TILEWRIGHT_API __attribute__((visibility("default")))
#endif
