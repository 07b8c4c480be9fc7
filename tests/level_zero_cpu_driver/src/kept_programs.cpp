#include "kept_programs.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "native_binary.hpp"
#include "settings.hpp"

namespace ze_cpu {

KeptProgram::KeptProgram(const SpirvModule& spirv, const ze_module_constants_t* constants,
                         const std::string& options)
    : spirv_(spirv), options_(options) {
  if (settings().programs_folder.empty()) return;
  uint64_t name = fnv(spirv.words.data(), spirv.words.size() * sizeof(uint32_t));
  name = fnv(options.data(), options.size(), name);
  for (uint32_t i = 0; constants != nullptr && i < constants->numConstants; ++i) {
    const uint32_t id = constants->pConstantIds[i];
    name = fnv(&id, sizeof(id), name);
    name = fnv(constants->pConstantValues[i], spirv.constants.at(id), name);
  }
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(name));
  path_ = settings().programs_folder + "/" + digits;
}

Program KeptProgram::take() const {
  Program none(nullptr, opencl().clReleaseProgram);
  if (path_.empty()) return none;
  std::ifstream file(path_, std::ios::binary);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) return none;
  try {
    const NativeBinary binary = read_native_binary(bytes.data(), bytes.size());
    if (binary.spirv != spirv_.words) return none;
    Program program = with_binary(binary.program);
    const OpenCL& cl = opencl();
    const cl_int error =
        cl.clBuildProgram(program.get(), 1, &cl.device, options_.c_str(), nullptr, nullptr);
    return error == CL_SUCCESS ? std::move(program) : std::move(none);
  } catch (const Failure&) {
    return none;
  }
}

void KeptProgram::keep(cl_program program) const {
  if (path_.empty()) return;
  const std::vector<uint8_t> bytes = write_native_binary({spirv_.words, binary_of(program)});
  static std::atomic<unsigned> count = 0;
  const std::string made = text(path_, ".", getpid(), ".", count++);
  std::ofstream file(made, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  file.close();
  // Others find the whole file or none.
  if (!file || std::rename(made.c_str(), path_.c_str()) != 0) std::remove(made.c_str());
}

}  // namespace ze_cpu
