#include "selection/absent.hpp"

#include "core/requests.hpp"
#include "core/text.hpp"
#include "selection/pick.hpp"
#include "tilewright/version.hpp"

namespace tilewright {

namespace {

std::string reason(std::string_view backend) {
  return text("this build of tilewright ", TILEWRIGHT_VERSION, " does not contain the ", backend,
              " backend; use another one (the README lists them)");
}

/// Never opens, so nothing past init() is ever asked of it.
class AbsentBackend final : public Backend {
 public:
  AbsentBackend(std::string_view name, Config config) : Backend(name, std::move(config)) {}

 private:
  void do_init() override { unavailable(); }
  void do_close() noexcept override {}
  DeviceInfo do_device() const override { unavailable(); }
  Capabilities do_capabilities() const override { unavailable(); }
  PerformanceHints do_performance_hints() const override { unavailable(); }
  void do_synchronize() override { unavailable(); }
  std::shared_ptr<Allocation> do_alloc(std::uint64_t) override { unavailable(); }
  std::uint64_t do_max_buffer_bytes() const override { unavailable(); }
  std::uint64_t do_memory_limit() const override { unavailable(); }
  std::uint64_t do_cached_bytes() const override { unavailable(); }
  std::uint64_t do_cache_limit() const override { unavailable(); }
  void do_trim() override { unavailable(); }
  void do_copy_htod(Allocation&, std::span<const std::byte>, std::uint64_t) override {
    unavailable();
  }
  void do_copy_dtoh(std::span<std::byte>, Allocation&, std::uint64_t) override { unavailable(); }
  void do_copy_dtod(Allocation&, Allocation&, std::uint64_t, std::uint64_t,
                    std::uint64_t) override {
    unavailable();
  }

  [[noreturn]] void unavailable() const {
    throw BackendUnavailable(text(name(), ": ", reason(name())));
  }
};

}  // namespace

std::vector<DeviceInfo> absent_devices(std::string_view backend) {
  return {unavailable_device(backend, reason(backend))};
}

std::shared_ptr<Backend> make_absent(std::string_view backend, const Config& config) {
  return std::make_shared<AbsentBackend>(backend, config);
}

}  // namespace tilewright
