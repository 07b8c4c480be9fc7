#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/text.hpp"
#include "webgpu/adapters.hpp"

namespace tilewright::webgpu {
namespace {

constexpr std::uint32_t amd = 0x1002, nvidia = 0x10de, mesa = 0x10005;

TEST_CASE("webgpu adapters: their kinds") {
  CHECK(kind_of(WGPUAdapterType_DiscreteGPU, nvidia) == DeviceKind::discrete);
  CHECK(kind_of(WGPUAdapterType_IntegratedGPU, amd) == DeviceKind::integrated);
  CHECK(kind_of(WGPUAdapterType_CPU, mesa) == DeviceKind::software);
  CHECK(kind_of(WGPUAdapterType_Unknown, mesa) == DeviceKind::software);
  // A virtual GPU has the maker of the real one.
  CHECK(kind_of(WGPUAdapterType_CPU, nvidia) == DeviceKind::discrete);
  CHECK(kind_of(WGPUAdapterType_Unknown, amd) == DeviceKind::discrete);
}

TEST_CASE("webgpu adapters: a GPU that two APIs reach counts once, two equal GPUs twice") {
  const auto adapter = [](std::uint32_t vendor, std::uint32_t device, WGPUBackendType type) {
    WGPUAdapterInfo info{};
    info.vendorID = vendor;
    info.deviceID = device;
    info.backendType = type;
    return info;
  };
  const std::array adapters{
      adapter(amd, 1, WGPUBackendType_Vulkan), adapter(amd, 1, WGPUBackendType_Vulkan),
      adapter(nvidia, 1, WGPUBackendType_Vulkan), adapter(amd, 1, WGPUBackendType_D3D12),
      adapter(amd, 2, WGPUBackendType_D3D12)};
  CHECK(without_doubles(adapters) == std::vector<bool>{true, true, true, false, true});
  CHECK(without_doubles({}).empty());
}

/// A folder like /sys/class/drm, gone at the end.
class Cards {
 public:
  Cards() { REQUIRE(mkdtemp(folder_.data()) != nullptr); }
  ~Cards() { REQUIRE(std::system(("rm -r " + folder_).c_str()) == 0); }
  void add(int card, std::uint32_t vendor, std::uint32_t device, const std::string& memory) const {
    const std::string path = text(folder_, "/card", card);
    mkdir(path.c_str(), 0700);
    mkdir((path + "/device").c_str(), 0700);
    std::ofstream(path + "/device/vendor") << "0x" << std::hex << vendor << "\n";
    std::ofstream(path + "/device/device") << "0x" << std::hex << device << "\n";
    if (!memory.empty()) std::ofstream(path + "/device/mem_info_vram_total") << memory << "\n";
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_ = "/tmp/tilewright-cards-XXXXXX";
};

TEST_CASE("webgpu adapters: video memory is what the driver says") {
  const Cards cards;
  CHECK(video_memory(amd, 7, cards.folder()) == 0);
  cards.add(0, nvidia, 7, "");
  cards.add(1, amd, 7, "17163091968");
  cards.add(3, amd, 8, "1000");
  CHECK(video_memory(amd, 7, cards.folder()) == 17163091968);
  CHECK(video_memory(amd, 8, cards.folder()) == 1000);
  CHECK(video_memory(nvidia, 7, cards.folder()) == 0);
  // Two cards of one model with the same memory, then with different ones.
  cards.add(4, amd, 8, "1000");
  CHECK(video_memory(amd, 8, cards.folder()) == 1000);
  cards.add(5, amd, 8, "2000");
  CHECK(video_memory(amd, 8, cards.folder()) == 0);
}

}  // namespace
}  // namespace tilewright::webgpu
