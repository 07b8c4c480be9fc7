#include "gpu/text/program_form.hpp"

#include <algorithm>
#include <bit>

#include "core/small_floats.hpp"

namespace tilewright::gpu {

bool ProgramForm::operator==(const ProgramForm& other) const {
  if (fold || other.fold) return fold && other.fold && *fold == *other.fold;
  if (in_rows || other.in_rows) return in_rows && other.in_rows && *in_rows == *other.in_rows;
  return layout == other.layout && rank == other.rank && vectors == other.vectors &&
         across == other.across && counted == other.counted && starts == other.starts &&
         params_in_buffer == other.params_in_buffer && group == other.group &&
         groups == other.groups && operands == other.operands;
}

std::uint64_t ProgramForm::hash() const {
  if (fold) return fold->hash();
  if (in_rows) return in_rows->hash();
  std::uint64_t hash = static_cast<std::uint64_t>(layout) | std::uint64_t{rank} << 8 |
                       std::uint64_t{vectors} << 16 | std::uint64_t{counted} << 24 |
                       std::uint64_t{starts} << 25 | std::uint64_t{params_in_buffer} << 26 |
                       std::uint64_t{group} << 32 | std::uint64_t{across} << 56;
  if (groups != 0) hash = (hash ^ groups) * 0x9e3779b97f4a7c15u;
  for (const OperandForm& operand : operands) {
    hash = (hash ^ (static_cast<std::uint64_t>(operand.walk) | std::uint64_t{operand.binding} << 8 |
                    std::uint64_t{operand.writable} << 16)) *
           0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

std::uint32_t ProgramForm::bindings() const {
  std::uint32_t count = 0;
  for (const OperandForm& operand : operands) {
    if (operand.walk != Walk::none) count = std::max<std::uint32_t>(count, operand.binding + 1);
  }
  return count;
}

std::uint64_t class_bits(DType dtype, std::uint64_t bits) {
  switch (dtype) {
    case DType::int8:
      return static_cast<std::uint32_t>(static_cast<std::int8_t>(bits));
    case DType::int16:
      return static_cast<std::uint32_t>(static_cast<std::int16_t>(bits));
    case DType::float16:
      return std::bit_cast<std::uint32_t>(float_of_half(static_cast<std::uint32_t>(bits)));
    case DType::bfloat16:
      return bits << 16;
    default:
      return bits;
  }
}

std::uint32_t number_words(const ProgramData& program) {
  std::uint32_t words = 0;
  for (const std::uint32_t number : program.numbers) {
    words += number_words(program.nodes[number].dtype);
  }
  return words;
}

std::uint32_t params_words(const ProgramData& program, const ProgramForm& form) {
  if (form.counted) return 0;
  if (form.groups != 0) {
    std::uint32_t words = 2 * form.groups;
    for (const OperandForm& operand : form.operands) words += form.has_start(operand) ? 1 : 0;
    return words + number_words(program);
  }
  std::uint32_t words = 1 + (form.layout == Layout::split ? 1 : 0) + form.rank;
  for (const OperandForm& operand : form.operands) {
    words += (form.has_start(operand) ? 1 : 0) + (form.has_strides(operand) ? form.rank : 0u);
  }
  return words + number_words(program);
}

KernelDescription program_kernel(const ProgramData& program, const ProgramForm& form,
                                 KernelLanguage language) {
  if (form.fold) return fold_kernel(program, *form.fold, language);
  if (form.in_rows) return rows_kernel(*form.in_rows, language);
  if (form.groups != 0) {
    return language == KernelLanguage::spirv ? spirv_groups(program, form)
                                             : wgsl_groups(program, form);
  }
  return language == KernelLanguage::spirv ? spirv_program(program, form)
                                           : wgsl_program(program, form);
}

}  // namespace tilewright::gpu
