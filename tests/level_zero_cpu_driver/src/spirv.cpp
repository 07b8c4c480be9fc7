#include "spirv.hpp"

#include <spirv-tools/libspirv.h>

#include <cstring>
#include <memory>

#include "failure.hpp"
#include "settings.hpp"

namespace ze_cpu {
namespace {

// Of the SPIR-V specification, as far as used here.
enum Op : uint16_t {
  OpEntryPoint = 15,
  OpTypeBool = 20,
  OpTypeInt = 21,
  OpTypeFloat = 22,
  OpTypePointer = 32,
  OpSpecConstantTrue = 48,
  OpSpecConstantFalse = 49,
  OpSpecConstant = 50,
  OpFunction = 54,
  OpFunctionParameter = 55,
  OpDecorate = 71,
};
enum StorageClass : uint32_t {
  UniformConstant = 0,
  Workgroup = 4,
  CrossWorkgroup = 5,
  Generic = 8,
};
constexpr uint32_t kDecorationSpecId = 1, kDecorationLinkage = 41, kLinkageImport = 1;
constexpr uint32_t kExecutionModelKernel = 6;

struct Reader {
  std::map<uint32_t, std::string> entry_points;
  std::map<uint32_t, uint32_t> storage_of_pointer;
  std::map<uint32_t, uint32_t> bytes_of_type;
  std::map<uint32_t, uint32_t> spec_ids;
  std::map<uint32_t, std::vector<ArgumentKind>> functions;
  std::map<uint32_t, uint32_t> constants;
  std::vector<std::string> imports;
  uint32_t function = 0;

  void read(const spv_parsed_instruction_t& instruction);
  ArgumentKind kind_of(uint32_t type) const;
};

ArgumentKind Reader::kind_of(uint32_t type) const {
  const auto pointer = storage_of_pointer.find(type);
  if (pointer == storage_of_pointer.end()) return ArgumentKind::value;
  switch (pointer->second) {
    case Workgroup:
      return ArgumentKind::local;
    case UniformConstant:
    case CrossWorkgroup:
    case Generic:
      return ArgumentKind::pointer;
    default:
      // A struct by value is a pointer to a copy.
      return ArgumentKind::value;
  }
}

void Reader::read(const spv_parsed_instruction_t& instruction) {
  const uint32_t* const words = instruction.words;
  switch (instruction.opcode) {
    case OpEntryPoint:
      if (words[1] == kExecutionModelKernel) {
        entry_points[words[2]] = reinterpret_cast<const char*>(words + 3);
      }
      break;
    case OpTypePointer:
      storage_of_pointer[words[1]] = words[2];
      break;
    case OpTypeBool:
      bytes_of_type[words[1]] = 1;
      break;
    case OpTypeInt:
    case OpTypeFloat:
      bytes_of_type[words[1]] = words[2] / 8;
      break;
    case OpDecorate:
      if (words[2] == kDecorationSpecId) spec_ids[words[1]] = words[3];
      if (words[2] == kDecorationLinkage && words[instruction.num_words - 1] == kLinkageImport) {
        imports.emplace_back(reinterpret_cast<const char*>(words + 3));
      }
      break;
    case OpSpecConstant:
    case OpSpecConstantTrue:
    case OpSpecConstantFalse: {
      const auto id = spec_ids.find(instruction.result_id);
      if (id != spec_ids.end()) constants[id->second] = bytes_of_type[instruction.type_id];
      break;
    }
    case OpFunction:
      function = instruction.result_id;
      functions[function];
      break;
    case OpFunctionParameter:
      functions[function].push_back(kind_of(instruction.type_id));
      break;
    default:
      break;
  }
}

spv_result_t read_instruction(void* reader, const spv_parsed_instruction_t* instruction) {
  static_cast<Reader*>(reader)->read(*instruction);
  return SPV_SUCCESS;
}

using Context = std::unique_ptr<spv_context_t, decltype(&spvContextDestroy)>;

void require_valid(spv_result_t result, spv_diagnostic diagnostic) {
  const std::string message =
      diagnostic != nullptr && diagnostic->error != nullptr ? diagnostic->error : "no reason given";
  const size_t index = diagnostic != nullptr ? diagnostic->position.index : 0;
  spvDiagnosticDestroy(diagnostic);
  if (result != SPV_SUCCESS) {
    fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "the SPIR-V is not valid: word ", index, ": ",
         message);
  }
}

}  // namespace

SpirvModule read_spirv(const uint8_t* bytes, size_t size) {
  SpirvModule module;
  if (size == 0 || size % sizeof(uint32_t) != 0) {
    fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "a SPIR-V module of ", size,
         " bytes; expected whole words");
  }
  module.words.resize(size / sizeof(uint32_t));
  std::memcpy(module.words.data(), bytes, size);
  const Context context(spvContextCreate(SPV_ENV_UNIVERSAL_1_4), &spvContextDestroy);
  spv_diagnostic diagnostic = nullptr;
  if (settings().validate_spirv) {
    spv_const_binary_t binary{module.words.data(), module.words.size()};
    require_valid(spvValidate(context.get(), &binary, &diagnostic), diagnostic);
    diagnostic = nullptr;
  }
  Reader reader;
  require_valid(spvBinaryParse(context.get(), &reader, module.words.data(), module.words.size(),
                               nullptr, &read_instruction, &diagnostic),
                diagnostic);
  for (const auto& [id, name] : reader.entry_points) module.kernels[name] = reader.functions[id];
  module.constants = std::move(reader.constants);
  module.imports = std::move(reader.imports);
  return module;
}

}  // namespace ze_cpu
