#include "gpu/spirv_kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
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

/// The module at this place. Those before it are unpacked too, since it repeats parts of them.
std::vector<std::uint32_t> unpacked(const SpirvKernel& kernel, const SpirvPlace& place) {
  std::vector<std::uint32_t> words;
  const std::size_t end = std::size_t{place.first} + place.count;
  words.reserve(end);
  auto next = kernel.packed.begin();
  const auto number = [&next] {
    std::uint32_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = std::to_integer<std::uint32_t>(*next++);
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (words.size() < end) {
    for (std::size_t plain = number(); plain != 0; --plain) words.push_back(number());
    const std::size_t repeated = number();
    const std::size_t back = number();
    for (std::size_t i = 0; i < repeated; ++i) words.push_back(words[words.size() - back]);
  }
  return {words.begin() + place.first, words.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Empty where there is none.
std::vector<std::uint32_t> module_for(const SpirvKernel& kernel,
                                      const TemplateVariables& variables) {
  std::size_t place = 0;
  for (const KernelVariable& variable : kernel.variables) {
    if (variable.role != VariableRole::choice) continue;
    const auto of_value = place_of(kernel, variables, variable);
    if (!of_value) return {};
    place = place * variable.values.size() + *of_value;
  }
  const SpirvPlace& found = kernel.modules[place];
  return found.count == 0 ? std::vector<std::uint32_t>() : unpacked(kernel, found);
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
  std::vector<std::uint32_t> module = module_for(kernel, variables);
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
  const auto bytes = std::as_bytes(std::span(module));
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

std::span<const std::uint32_t> spirv_functions(std::string_view name) {
  const SpirvKernel& kernel = kernel_named(name);
  static std::mutex mutex;
  static std::map<std::string_view, std::vector<std::uint32_t>> kept;
  std::lock_guard lock(mutex);
  const auto [found, first] = kept.try_emplace(kernel.name);
  if (first) found->second = unpacked(kernel, kernel.modules[0]);
  return found->second;
}

std::string spirv_kernels_fingerprint() {
  std::uint64_t hash = hash_of("");
  for (const SpirvKernel& kernel : embedded_spirv_kernels()) {
    hash = hash_of(kernel.digest, hash_of(kernel.name, hash));
  }
  return hexadecimal(hash);
}

}  // namespace tilewright::gpu
