#include "gpu/spirv_kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "core/hash.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

constexpr std::string_view subgroup = "SUBGROUP";
constexpr std::string_view group = "GROUP";

const SpirvKernel& kernel_named(std::string_view name) {
  const auto all = embedded_spirv_kernels();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const SpirvKernel& kernel) { return kernel.name == name; });
  if (found == all.end()) throw KernelError(text("no SPIR-V kernel is named ", name));
  return *found;
}

const KernelVariable* find(const SpirvKernel& kernel, std::string_view name) {
  const auto found =
      std::find_if(kernel.variables.begin(), kernel.variables.end(),
                   [&](const KernelVariable& variable) { return variable.name == name; });
  return found == kernel.variables.end() ? nullptr : &*found;
}

std::string to_text(const TemplateValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return text(*number);
  return std::get<std::string>(value);
}

std::string listed(const TemplateVariables& variables) {
  std::string all;
  for (const auto& [name, value] : variables) all += text(" ", name, "=", to_text(value));
  return all;
}

const TemplateValue& value_of(const SpirvKernel& kernel, const TemplateVariables& variables,
                              std::string_view name) {
  const auto found = variables.find(name);
  if (found == variables.end()) {
    throw KernelError(text(kernel.name, ": its variable ", name, " was not set"));
  }
  return found->second;
}

/// Where the value of a variable stands among those that it may have; nothing where it does not.
std::optional<std::size_t> place_of(const SpirvKernel& kernel, const TemplateVariables& variables,
                                    const KernelVariable& variable) {
  const std::string wanted = to_text(value_of(kernel, variables, variable.name));
  const auto found = std::find(variable.values.begin(), variable.values.end(), wanted);
  if (found == variable.values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - variable.values.begin());
}

std::span<const std::uint32_t> module_for(const SpirvKernel& kernel,
                                          const TemplateVariables& variables) {
  std::size_t place = 0;
  for (const KernelVariable& variable : kernel.variables) {
    if (variable.role != VariableRole::choice) continue;
    const auto of_value = place_of(kernel, variables, variable);
    if (!of_value) return {};
    place = place * variable.values.size() + *of_value;
  }
  return kernel.modules[place];
}

std::uint32_t constant_for(const SpirvKernel& kernel, const TemplateVariables& variables,
                           const KernelVariable& variable) {
  if (variable.values.empty()) {
    return static_cast<std::uint32_t>(
        std::get<std::int64_t>(value_of(kernel, variables, variable.name)));
  }
  const auto place = place_of(kernel, variables, variable);
  if (!place) throw KernelError(text(kernel.name, " is not compiled for", listed(variables)));
  return static_cast<std::uint32_t>(*place);
}

/// Whether the module reads the constant: a driver may refuse one that it does not know.
bool reads(std::span<const std::uint32_t> module, std::uint32_t constant) {
  constexpr std::size_t header = 5;
  constexpr std::uint32_t op_decorate = 71, spec_id = 1;
  for (std::size_t at = header; at < module.size(); at += module[at] >> 16) {
    if (module[at] == ((4u << 16) | op_decorate) && module[at + 2] == spec_id &&
        module[at + 3] == constant) {
      return true;
    }
  }
  return false;
}

}  // namespace

KernelDescription spirv_kernel(std::string_view name, const TemplateVariables& variables) {
  const SpirvKernel& kernel = kernel_named(name);
  for (const auto& [set, value] : variables) {
    if (set != subgroup && find(kernel, set) == nullptr) {
      throw KernelError(text(name, ": variable ", set, " is set and not declared"));
    }
  }
  std::span<const std::uint32_t> module = module_for(kernel, variables);
  if (module.empty()) {
    TemplateVariables plain = variables;
    plain.insert_or_assign(std::string(subgroup), std::int64_t{0});
    module = module_for(kernel, plain);
  }
  if (module.empty()) throw KernelError(text(name, " is not compiled for", listed(variables)));
  KernelDescription description;
  description.name = name;
  description.entry = name;
  description.trusted = true;
  const auto bytes = std::as_bytes(module);
  description.code.text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::uint32_t id = 0;
  for (const KernelVariable& variable : kernel.variables) {
    if (variable.role != VariableRole::constant) continue;
    const std::uint32_t value = constant_for(kernel, variables, variable);
    if (reads(module, id)) description.constants.push_back({id, value});
    ++id;
    if (variable.name == group) description.group_size = value;
  }
  return description;
}

std::string spirv_kernels_fingerprint() {
  std::uint64_t hash = hash_of("");
  for (const SpirvKernel& kernel : embedded_spirv_kernels()) {
    hash = hash_of(kernel.digest, hash_of(kernel.name, hash));
  }
  return hexadecimal(hash);
}

}  // namespace tilewright::gpu
