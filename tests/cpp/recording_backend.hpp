#pragma once

#include <doctest/doctest.h>

#include <any>
#include <string>
#include <utility>
#include <vector>

#include "core/all_requests.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

/// A backend that computes nothing and remembers every request that the trait lets through.
class RecordingBackend final : public Backend {
 public:
  explicit RecordingBackend(Config config = {}) : Backend("recording", std::move(config)) {
    init();
  }
  ~RecordingBackend() override { close(); }

  /// The virtuals that were called, in order: "do_gemm", "do_copy_htod".
  std::vector<std::string> calls;
  /// The requests of the ops among them.
  std::vector<std::any> requests;

  std::uint64_t max_buffer_bytes = std::uint64_t{1} << 50;
  std::uint64_t memory_limit = std::uint64_t{1} << 55;
  std::uint64_t cached_bytes = 0;
  bool full = false;    ///< do_alloc throws OutOfMemory
  KernelInfo declared;  ///< by every kernel
  LaunchLimits launch_limits{1 << 20, 16, true, 65535};

  /// The only request there is.
  template <class T>
  const T& only() const {
    REQUIRE(requests.size() == 1);
    return request<T>(0);
  }

  template <class T>
  const T& request(std::size_t i) const {
    const T* const one = std::any_cast<T>(&requests.at(i));
    REQUIRE(one != nullptr);
    return *one;
  }

  void forget() {
    requests.clear();
    calls.clear();
  }

  /// A buffer for this many float32.
  Buffer floats(Size n) { return alloc(n * 4); }

 private:
  void do_init() override { calls.emplace_back("do_init"); }
  void do_close() noexcept override { calls.emplace_back("do_close"); }
  DeviceInfo do_device() const override { return {}; }
  Capabilities do_capabilities() const override { return {}; }
  PerformanceHints do_performance_hints() const override { return {}; }
  void do_synchronize() override { calls.emplace_back("do_synchronize"); }

  std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) override {
    if (full) throw OutOfMemory("alloc: the device is full", bytes);
    return std::make_shared<Allocation>(bytes);
  }
  std::uint64_t do_max_buffer_bytes() const override { return max_buffer_bytes; }
  std::uint64_t do_memory_limit() const override { return memory_limit; }
  std::uint64_t do_cached_bytes() const override { return cached_bytes; }
  std::uint64_t do_cache_limit() const override { return 0; }
  void do_trim() override {
    calls.emplace_back("do_trim");
    cached_bytes = 0;
  }
  void do_copy_htod(Allocation&, std::span<const std::byte>, std::uint64_t) override {
    calls.emplace_back("do_copy_htod");
  }
  void do_copy_dtoh(std::span<std::byte>, Allocation&, std::uint64_t) override {
    calls.emplace_back("do_copy_dtoh");
  }
  void do_copy_dtod(Allocation&, Allocation&, std::uint64_t, std::uint64_t,
                    std::uint64_t) override {
    calls.emplace_back("do_copy_dtod");
  }

  void record(const char* call, const auto& request) {
    calls.emplace_back(call);
    requests.emplace_back(request);
  }
#define TILEWRIGHT_DO(name, Request) \
  void do_##name(const Request& r) override { record("do_" #name, r); }
  TILEWRIGHT_OPS(TILEWRIGHT_DO)
#undef TILEWRIGHT_DO
  std::shared_ptr<CompiledKernel> do_create_kernel(const KernelSource& source) override {
    calls.emplace_back("do_create_kernel");
    KernelInfo info = declared;
    info.name = source.name;
    return std::make_shared<CompiledKernel>(info, launch_limits);
  }
  void do_launch_kernel(const LaunchRequest& r) override { record("do_launch_kernel", r); }
  void do_begin_profile() override { calls.emplace_back("do_begin_profile"); }
  Profile do_end_profile() override {
    calls.emplace_back("do_end_profile");
    return {{{"relu", 0, 5, {1, 1, 1}}}};
  }
};

/// Holds a call to being refused with these words, and to never reaching the implementation.
#define CHECK_REFUSED(backend, call, words)                                            \
  do {                                                                                 \
    (backend).forget();                                                                \
    CHECK_THROWS_WITH_AS(call, doctest::Contains(words), tilewright::InvalidArgument); \
    CHECK((backend).calls.empty());                                                    \
  } while (false)

/// Holds a call to being accepted without anything to do.
#define CHECK_NOTHING_TO_DO(backend, call) \
  do {                                     \
    (backend).forget();                    \
    CHECK_NOTHROW(call);                   \
    CHECK((backend).calls.empty());        \
  } while (false)

/// Largest Size, for arithmetic that overflows.
inline constexpr Size most = INT64_MAX;

}  // namespace tilewright
