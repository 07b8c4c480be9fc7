#include "native_binary.hpp"

#include <cstdlib>
#include <cstring>

#include "failure.hpp"
#include "opencl.hpp"

namespace ze_cpu {
namespace {

constexpr char kMagic[8] = {'Z', 'E', 'C', 'P', 'U', 'B', 'I', '1'};

struct Header {
  char magic[8];
  uint64_t key;
  uint64_t spirv_bytes;
  uint64_t program_bytes;
  uint64_t checksum;
};

/// Differs between runtimes, between processors, and between those that the runtime is told to
/// compile for.
uint64_t key() {
  const char* const target = std::getenv("CL_CONFIG_CPU_TARGET_ARCH");
  const std::string what = opencl().driver_version + '\n' + opencl().device_name + '\n' +
                           (target != nullptr ? target : "");
  return fnv(what.data(), what.size());
}

}  // namespace

uint64_t fnv(const void* data, size_t size, uint64_t hash) {
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3;
  }
  return hash;
}

std::vector<uint8_t> write_native_binary(const NativeBinary& binary) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.key = key();
  header.spirv_bytes = binary.spirv.size() * sizeof(uint32_t);
  header.program_bytes = binary.program.size();
  std::vector<uint8_t> bytes(sizeof(header) + header.spirv_bytes + header.program_bytes);
  uint8_t* const body = bytes.data() + sizeof(header);
  std::memcpy(body, binary.spirv.data(), header.spirv_bytes);
  std::memcpy(body + header.spirv_bytes, binary.program.data(), header.program_bytes);
  header.checksum = fnv(body, bytes.size() - sizeof(header));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

NativeBinary read_native_binary(const uint8_t* bytes, size_t size) {
  Header header{};
  if (size < sizeof(header)) {
    fail(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, "a native binary of ", size, " bytes");
  }
  std::memcpy(&header, bytes, sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    fail(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, "this is no native binary of this driver");
  }
  if (header.key != key()) {
    fail(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY,
         "the native binary is of another version of the runtime or another processor");
  }
  const uint8_t* const body = bytes + sizeof(header);
  const size_t body_bytes = size - sizeof(header);
  if (header.spirv_bytes > body_bytes || header.program_bytes != body_bytes - header.spirv_bytes ||
      header.checksum != fnv(body, body_bytes)) {
    fail(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, "the native binary is damaged");
  }
  NativeBinary binary;
  binary.spirv.resize(header.spirv_bytes / sizeof(uint32_t));
  std::memcpy(binary.spirv.data(), body, header.spirv_bytes);
  binary.program.assign(body + header.spirv_bytes, body + body_bytes);
  return binary;
}

}  // namespace ze_cpu
