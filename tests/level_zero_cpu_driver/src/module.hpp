// Modules: SPIR-V or the driver's own native binaries, built by the OpenCL runtime.
#pragma once

#include <memory>
#include <string>

#include "device.hpp"
#include "opencl.hpp"
#include "spirv.hpp"

namespace ze_cpu {

class Module : public Object {
 public:
  using Handle = ze_module_handle_t;
  static constexpr Kind kKind = Kind::module;
  Module(std::shared_ptr<Context> context, SpirvModule spirv, cl_program program)
      : Object(kKind, {context}),
        context(std::move(context)),
        spirv(std::move(spirv)),
        program(program) {}
  ~Module() override { opencl().clReleaseProgram(program); }

  const std::shared_ptr<Context> context;
  const SpirvModule spirv;
  const cl_program program;
};

class BuildLog : public Object {
 public:
  using Handle = ze_module_build_log_handle_t;
  static constexpr Kind kKind = Kind::build_log;
  explicit BuildLog(std::string text) : Object(kKind), text(std::move(text)) {}

  const std::string text;
};

}  // namespace ze_cpu
