#include "module.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "api.hpp"
#include "give.hpp"
#include "kept_programs.hpp"
#include "matrix_mad.hpp"
#include "native_binary.hpp"
#include "settings.hpp"

namespace ze_cpu {
namespace {

/// Level Zero's build flags as OpenCL's.
std::string opencl_options(const char* flags) {
  if (flags == nullptr) return {};
  static constexpr struct {
    const char* ze;
    const char* cl;
  } kKnown[] = {
      {"-ze-opt-disable", "-cl-opt-disable"},
      {"-ze-opt-greater-than-4GB-buffer-required", ""},
      {"-ze-opt-large-register-file", ""},
      {"-ze-opt-level", ""},
      {"-ze-opt-has-buffer-offset-arg", ""},
      {"-ze-opt-large-grf", ""},
      {"-ze-intel-enable-auto-large-GRF-mode", ""},
      {"-g", ""},
  };
  std::string options;
  std::istringstream words{std::string(flags)};
  for (std::string word; words >> word;) {
    const auto known = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const auto& flag) {
      return word == flag.ze || word.rfind(std::string(flag.ze) + '=', 0) == 0;
    });
    if (known == std::end(kKnown) && word.rfind("-cl-", 0) != 0) {
      fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "the build flag ", word, " is not known");
    }
    options += (known == std::end(kKnown) ? word : known->cl) + std::string(" ");
  }
  return options;
}

void specialize(cl_program program, const SpirvModule& spirv,
                const ze_module_constants_t* constants) {
  if (constants == nullptr) return;
  for (uint32_t i = 0; i < constants->numConstants; ++i) {
    const uint32_t id = constants->pConstantIds[i];
    const auto known = spirv.constants.find(id);
    if (known == spirv.constants.end()) {
      fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the module has no specialization constant ", id);
    }
    const cl_int error = opencl().clSetProgramSpecializationConstant(program, id, known->second,
                                                                     constants->pConstantValues[i]);
    if (error != CL_SUCCESS) {
      fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "specialization constant ", id,
           " is refused: ", error);
    }
  }
}

/// For whom the modules are of interest that programs make as they run.
void keep_in_folder(const SpirvModule& spirv) {
  static std::atomic<unsigned> count = 0;
  const std::string& folder = settings().modules_folder;
  if (folder.empty()) return;
  std::ofstream file(folder + "/" + std::to_string(count++) + ".spv", std::ios::binary);
  file.write(reinterpret_cast<const char*>(spirv.words.data()),
             std::streamsize(spirv.words.size() * sizeof(spirv.words[0])));
}

Program create(const ze_module_desc_t& desc, SpirvModule& spirv) {
  const OpenCL& cl = opencl();
  cl_int error = CL_SUCCESS;
  if (desc.format == ZE_MODULE_FORMAT_IL_SPIRV) {
    spirv = read_spirv(desc.pInputModule, desc.inputSize);
    keep_in_folder(spirv);
    Program program = owned(
        cl.clCreateProgramWithIL(cl.context, desc.pInputModule, desc.inputSize, &error), error);
    specialize(program.get(), spirv, desc.pConstants);
    return program;
  }
  if (desc.format != ZE_MODULE_FORMAT_NATIVE) {
    fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "module format ", desc.format);
  }
  const NativeBinary binary = read_native_binary(desc.pInputModule, desc.inputSize);
  spirv = read_spirv(reinterpret_cast<const uint8_t*>(binary.spirv.data()),
                     binary.spirv.size() * sizeof(uint32_t));
  return with_binary(binary.program);
}

void build(cl_program program, const std::string& options, std::string& log) {
  const OpenCL& cl = opencl();
  const cl_int error = cl.clBuildProgram(program, 1, &cl.device, options.c_str(), nullptr, nullptr);
  log = build_log(program);
  if (error != CL_SUCCESS) fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, log);
}

/// Builds, and puts what the compiler says into log.
std::shared_ptr<Module> build(const std::shared_ptr<Context>& context, const ze_module_desc_t& desc,
                              std::string& log) {
  SpirvModule spirv;
  const std::string options = opencl_options(desc.pBuildFlags);
  Program program = create(desc, spirv);
  if (desc.format != ZE_MODULE_FORMAT_IL_SPIRV) {
    build(program.get(), options, log);
    return std::make_shared<Module>(context, std::move(spirv), program.release());
  }
  const KeptProgram kept(spirv, desc.pConstants, options);
  if (Program found = kept.take()) {
    log = "kept";
    return std::make_shared<Module>(context, std::move(spirv), found.release());
  }
  if (imports_matrix_mad(spirv)) {
    program = with_matrix_mad(std::move(program), options, log);
  } else {
    build(program.get(), options, log);
  }
  kept.keep(program.get());
  return std::make_shared<Module>(context, std::move(spirv), program.release());
}

std::vector<uint8_t> native_binary(const Module& module) {
  return write_native_binary({module.spirv.words, binary_of(module.program)});
}

template <typename Size>
void give_bytes(Size* size, void* to, const void* from, size_t bytes) {
  require_pointer(size, "pSize");
  if (to != nullptr) std::memcpy(to, from, std::min<size_t>(*size, bytes));
  *size = Size(bytes);
}

}  // namespace

namespace api {

ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device,
                           const ze_module_desc_t* desc, ze_module_handle_t* module,
                           ze_module_build_log_handle_t* log_handle) {
  const auto parent = find<Context>(context);
  find<Device>(device)->require_present();
  require_descriptor(desc, ZE_STRUCTURE_TYPE_MODULE_DESC, "desc");
  require_pointer(desc->pInputModule, "desc->pInputModule");
  require_pointer(module, "phModule");
  std::string log;
  const auto give_log = [&] {
    if (log_handle != nullptr) *log_handle = publish(std::make_shared<BuildLog>(log));
  };
  try {
    *module = publish(build(parent, *desc, log));
  } catch (const Failure& failure) {
    if (log.empty()) log = failure.message;
    give_log();
    throw;
  }
  give_log();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleDestroy(ze_module_handle_t module) {
  destroy<Module>(module);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleBuildLogDestroy(ze_module_build_log_handle_t log) {
  destroy<BuildLog>(log);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t* size, char* to) {
  const auto found = find<BuildLog>(log);
  give_bytes(size, to, found->text.c_str(), found->text.size() + 1);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleGetNativeBinary(ze_module_handle_t module, size_t* size, uint8_t* to) {
  const std::vector<uint8_t> bytes = native_binary(*find<Module>(module));
  give_bytes(size, to, bytes.data(), bytes.size());
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleGetKernelNames(ze_module_handle_t handle, uint32_t* count, const char** names) {
  const auto module = find<Module>(handle);
  auto kernel = module->spirv.kernels.begin();
  give(count, names, module->spirv.kernels.size(),
       [&](const char*& name, uint32_t) { name = (kernel++)->first.c_str(); });
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleGetProperties(ze_module_handle_t module, ze_module_properties_t* properties) {
  find<Module>(module);
  require_descriptor(properties, ZE_STRUCTURE_TYPE_MODULE_PROPERTIES, "pModuleProperties");
  properties->flags = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleDynamicLink(uint32_t count, ze_module_handle_t* modules,
                                ze_module_build_log_handle_t* log) {
  require_pointer(modules, "phModules");
  for (uint32_t i = 0; i < count; ++i) find<Module>(modules[i]);
  if (log != nullptr) *log = publish(std::make_shared<BuildLog>("nothing to link"));
  return ZE_RESULT_SUCCESS;
}

}  // namespace api
}  // namespace ze_cpu
