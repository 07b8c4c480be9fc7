#include "gpu/text/spirv_writer.hpp"

#include <algorithm>
#include <cstring>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

constexpr std::size_t header_words = 5;
constexpr std::uint32_t magic = 0x07230203, version = 0x00010200;
constexpr std::uint32_t decoration_linkage = 41;
constexpr std::uint32_t storage_input = 1;
constexpr std::uint32_t kernel_model = 6, mode_local_size = 17, mode_contraction_off = 31;

SpirvOp op_of(std::span<const std::uint32_t> instruction) {
  return static_cast<SpirvOp>(instruction[0] & 0xffff);
}

/// Where the id is that a type, a constant or a variable of a module declares.
std::uint32_t id_of(std::span<const std::uint32_t> global) {
  const SpirvOp op = op_of(global);
  return global[op >= SpirvOp::type_void && op <= SpirvOp::last_type ? 1 : 2];
}

/// Words at the end of an instruction that only look like ids, and one in its midst; counted from
/// its first word. Elsewhere a number may pass for an id, which keeps what nobody needs and is no
/// fault, so only those are here that libraries have.
struct Literals {
  std::size_t from, one = 0;
};
Literals literals_of(SpirvOp op) {
  constexpr std::size_t none = ~std::size_t{0};
  switch (op) {
    case SpirvOp::function:
    case SpirvOp::variable:
      return {none, 3};
    case SpirvOp::instruction_of_import:
      return {none, 4};
    case SpirvOp::load:
    case SpirvOp::composite_extract:
      return {4};
    case SpirvOp::composite_insert:
    case SpirvOp::vector_shuffle:
      return {5};
    case SpirvOp::store:
    case SpirvOp::type_int:
    case SpirvOp::type_float:
    case SpirvOp::lifetime_start:
    case SpirvOp::lifetime_stop:
      return {op == SpirvOp::store ? std::size_t{3} : std::size_t{2}};
    case SpirvOp::type_vector:
    case SpirvOp::constant:
      return {3};
    case SpirvOp::type_pointer:
      return {none, 2};
    default:
      return {none};
  }
}

template <class Call>
void for_each_instruction(std::span<const std::uint32_t> words, const Call& call) {
  while (!words.empty()) {
    const std::size_t length = words[0] >> 16;
    call(words.first(length));
    words = words.subspan(length);
  }
}

std::string_view text_at(std::span<const std::uint32_t> words) {
  return reinterpret_cast<const char*>(words.data());
}

void append(std::vector<std::uint32_t>& to, std::span<const std::uint32_t> words) {
  to.insert(to.end(), words.begin(), words.end());
}

void append(std::vector<std::uint32_t>& to, SpirvOp op, std::span<const std::uint32_t> operands) {
  to.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 |
               static_cast<std::uint32_t>(op));
  append(to, operands);
}
void append(std::vector<std::uint32_t>& to, SpirvOp op,
            std::initializer_list<std::uint32_t> operands) {
  append(to, op, std::span(operands));
}

}  // namespace

SpirvLibrary::SpirvLibrary(std::span<const std::uint32_t> module)
    : bound_(module[3]), definitions_(bound_) {
  Words function;  // the one whose end is to come, from its beginning
  for_each_instruction(module.subspan(header_words), [&](Words words) {
    const SpirvOp op = op_of(words);
    if (op == SpirvOp::function) {
      function = {words.data(), module.data() + module.size()};
    } else if (op == SpirvOp::function_end) {
      const auto length = static_cast<std::size_t>(words.data() + words.size() - function.data());
      functions_[function[2]] = {function.first(length), definitions_[function[4]]};
      order_.push_back(function[2]);
      function = {};
    } else if (!function.empty()) {
      return;
    } else if (op == SpirvOp::import_instructions || op == SpirvOp::extension) {
      imports_.push_back(words);
    } else if (op == SpirvOp::decorate && words[2] == decoration_linkage) {
      exports_[text_at(words.subspan(3))] = words[1];
    } else if (op == SpirvOp::decorate) {
      decorations_.push_back(words);
    } else if (op >= SpirvOp::type_void || op == SpirvOp::undef) {
      globals_.push_back(words);
      definitions_[id_of(words)] = words;
    }
  });
}

SpirvWriter::Id SpirvWriter::export_named(std::string_view name) const {
  const auto found = library_.exports_.find(name);
  if (found == library_.exports_.end()) {
    throw KernelError(text("the library of programs has no function ", name));
  }
  return found->second;
}

std::span<const SpirvWriter::Id> SpirvWriter::types_of(std::string_view name) const {
  return library_.functions_.at(export_named(name)).type.subspan(2);
}

void SpirvWriter::use(Words instructions) {
  std::vector<Id> found;
  const auto look_at = [&](Words instruction) {
    const Literals literals = literals_of(op_of(instruction));
    for (std::size_t i = 1; i < std::min(instruction.size(), literals.from); ++i) {
      if (i != literals.one) found.push_back(instruction[i]);
    }
  };
  for_each_instruction(instructions, look_at);
  while (!found.empty()) {
    const Id next = found.back();
    found.pop_back();
    if (next >= used_.size() || used_[next]) continue;
    const auto function = library_.functions_.find(next);
    const Words words = function == library_.functions_.end() ? library_.definitions_[next]
                                                              : function->second.words;
    if (words.empty()) continue;
    used_[next] = true;
    for_each_instruction(words, look_at);
  }
}

SpirvWriter::Id SpirvWriter::type(SpirvOp op, std::span<const std::uint32_t> operands) {
  for (const Words& words : library_.globals_) {
    if (op_of(words) == op && std::ranges::equal(words.subspan(2), operands)) {
      use(words);
      return words[1];
    }
  }
  std::vector<std::uint32_t> words{0};
  append(words, operands);
  return global(op, words, 0);
}

SpirvWriter::Id SpirvWriter::constant(Id type, std::initializer_list<std::uint32_t> value) {
  std::vector<std::uint32_t> words{type, 0};
  append(words, std::span(value));
  return global(SpirvOp::constant, words, 1);
}

SpirvWriter::Id SpirvWriter::boolean(bool value) {
  return global(value ? SpirvOp::constant_true : SpirvOp::constant_false,
                {type(SpirvOp::type_bool, {}), 0}, 1);
}

SpirvWriter::Id SpirvWriter::global(SpirvOp op, std::vector<std::uint32_t> operands,
                                    std::size_t result) {
  std::vector<std::uint32_t> key{static_cast<std::uint32_t>(op)};
  append(key, operands);
  const auto [made, is_new] = made_.try_emplace(std::move(key), next_);
  if (is_new) {
    operands[result] = new_id();
    const std::size_t at = globals_.size();
    append(globals_, op, operands);
    use(Words(globals_).subspan(at));
  }
  return made->second;
}

SpirvWriter::Id SpirvWriter::variable(Id pointer_type, std::uint32_t storage) {
  const Id made = new_id();
  append(globals_, SpirvOp::variable, {pointer_type, made, storage});
  return made;
}

void SpirvWriter::decorate(std::initializer_list<std::uint32_t> operands) {
  append(decorations_, SpirvOp::decorate, operands);
}

void SpirvWriter::write(SpirvOp op, std::span<const std::uint32_t> operands) {
  append(code_, op, operands);
}

SpirvWriter::Id SpirvWriter::value(SpirvOp op, Id type,
                                   std::initializer_list<std::uint32_t> operands) {
  std::vector<std::uint32_t> all{type, new_id()};
  append(all, std::span(operands));
  append(code_, op, all);
  return all[1];
}

SpirvWriter::Id SpirvWriter::call(std::string_view name, std::span<const Id> arguments) {
  const Id function = export_named(name);
  if (!used_[function]) use(library_.functions_.at(function).words);
  std::vector<std::uint32_t> all{types_of(name)[0], new_id(), function};
  append(all, arguments);
  append(code_, SpirvOp::function_call, all);
  return all[1];
}

std::vector<std::uint32_t> SpirvWriter::capabilities() const {
  constexpr std::uint32_t addresses = 4, kernel = 6, float16_buffer = 8, float16 = 9, float64 = 10,
                          int64 = 11, int16 = 22, int8 = 39;
  std::vector<std::uint32_t> all{kernel, addresses};
  const auto look_at = [&](Words words) {
    if (op_of(words) == SpirvOp::type_int && words[2] == 8) all.push_back(int8);
    if (op_of(words) == SpirvOp::type_int && words[2] == 16) all.push_back(int16);
    if (op_of(words) == SpirvOp::type_int && words[2] == 64) all.push_back(int64);
    if (op_of(words) == SpirvOp::type_float && words[2] == 64) all.push_back(float64);
    if (op_of(words) == SpirvOp::type_float && words[2] == 16) {
      all.push_back(float16);
      all.push_back(float16_buffer);
    }
  };
  for (const Words& words : library_.globals_) {
    if (used_[id_of(words)]) look_at(words);
  }
  for_each_instruction(globals_, look_at);
  return all;
}

std::string SpirvWriter::module(Id kernel, std::string_view name, std::uint32_t group) {
  std::vector<std::uint32_t> words{magic, version, 0, next_, 0};
  for (const std::uint32_t capability : capabilities()) {
    append(words, SpirvOp::capability, {capability});
  }
  for (const Words& import : library_.imports_) append(words, import);
  constexpr std::uint32_t physical_64 = 2, opencl = 2;
  append(words, SpirvOp::memory_model, {physical_64, opencl});

  std::vector<std::uint32_t> entry{kernel_model, kernel};
  const std::size_t letters = entry.size();
  entry.resize(letters + name.size() / sizeof(std::uint32_t) + 1);
  std::memcpy(entry.data() + letters, name.data(), name.size());
  for (const Words& global : library_.globals_) {
    if (op_of(global) == SpirvOp::variable && global[3] == storage_input && used_[global[2]]) {
      entry.push_back(global[2]);
    }
  }
  append(words, SpirvOp::entry_point, entry);
  append(words, SpirvOp::execution_mode, {kernel, mode_local_size, group, 1, 1});
  append(words, SpirvOp::execution_mode, {kernel, mode_contraction_off});

  for (const Words& decoration : library_.decorations_) {
    if (used_[decoration[1]]) append(words, decoration);
  }
  append(words, decorations_);
  for (const Words& global : library_.globals_) {
    if (used_[id_of(global)]) append(words, global);
  }
  append(words, globals_);
  for (const std::uint32_t id : library_.order_) {
    if (used_[id]) append(words, library_.functions_.at(id).words);
  }
  append(words, code_);
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]};
}

}  // namespace tilewright::gpu
