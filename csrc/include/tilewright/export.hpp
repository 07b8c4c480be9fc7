#pragma once

#if defined(_WIN32)
#if defined(TILEWRIGHT_BUILDING)
#define TILEWRIGHT_API __declspec(dllexport)
#else
#define TILEWRIGHT_API __declspec(dllimport)
#endif
#else
#define TILEWRIGHT_API __attribute__((visibility("default")))
#endif
