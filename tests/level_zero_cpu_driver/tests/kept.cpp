// Programs that are kept in a folder for later processes.
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "fixture.hpp"

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path(fs::temp_directory_path() / ("ze_cpu_kept." + std::to_string(getpid()))) {
    fs::create_directory(path);
    setenv("ZE_CPU_PROGRAMS", path.c_str(), 1);
  }
  ~Folder() { fs::remove_all(path); }
  std::vector<fs::path> files() const {
    return {fs::directory_iterator(path), fs::directory_iterator()};
  }

  const fs::path path;
};

/// What the kernel of constants writes, and the build log of its module.
std::pair<int, std::string> built_with(Fixture& f, int value, const char* flags = nullptr) {
  const uint32_t id = 8;
  const void* const values[] = {&value};
  const ze_module_constants_t constants{1, &id, const_cast<const void**>(values)};
  const auto spirv = kernels_spirv();
  auto desc = Fixture::module_desc(spirv);
  desc.pConstants = &constants;
  desc.pBuildFlags = flags;
  ze_module_handle_t module = nullptr;
  ze_module_build_log_handle_t log = nullptr;
  REQUIRE_OK(zeModuleCreate(f.context, f.device, &desc, &module, &log));
  char said[1000] = {};
  size_t size = sizeof(said) - 1;
  REQUIRE_OK(zeModuleBuildLogGetString(log, &size, said));
  REQUIRE_OK(zeModuleBuildLogDestroy(log));

  const ze_kernel_handle_t kernel = f.kernel_of(module, "constants");
  auto* const out = f.device_memory<int>(2);
  const auto list = f.immediate();
  REQUIRE_OK(set_argument(kernel, 0, out));
  REQUIRE_OK(f.launch(list, kernel));
  REQUIRE_OK(f.finish(list));
  return {out[1], said};
}

}  // namespace

TEST_CASE("a kept program is taken for the same constants and flags, and for no others") {
  const Folder folder;
  Fixture f;
  const auto first = built_with(f, 60);
  CHECK(first.first == 60);
  CHECK(first.second != "kept");
  CHECK(folder.files().size() == 1);
  CHECK(built_with(f, 60) == std::pair(60, std::string("kept")));
  const auto other = built_with(f, 61);
  CHECK(other.first == 61);
  CHECK(other.second != "kept");
  CHECK(built_with(f, 60, "-ze-opt-disable").second != "kept");
  CHECK(folder.files().size() == 3);
  CHECK(built_with(f, 61) == std::pair(61, std::string("kept")));
}

TEST_CASE("a kept program that is damaged is compiled again") {
  const Folder folder;
  Fixture f;
  built_with(f, 60);
  REQUIRE(folder.files().size() == 1);
  const fs::path file = folder.files()[0];
  const auto size = fs::file_size(file);
  fs::resize_file(file, size / 2);
  CHECK(built_with(f, 60).second != "kept");
  CHECK(fs::file_size(file) == size);
  CHECK(built_with(f, 60) == std::pair(60, std::string("kept")));
}
