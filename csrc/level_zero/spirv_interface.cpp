#include "level_zero/spirv_interface.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/text.hpp"
#include "level_zero/spirv_module.hpp"
#include "tilewright/error.hpp"

namespace tilewright::level_zero {

namespace {

using Kind = SpirvModule::Kind;

constexpr int most_nested = 32;
constexpr std::size_t most_arguments = 1024;
constexpr std::size_t most_listed = 20;
/// Larger things are one and the same: too large.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

class Reader {
 public:
  explicit Reader(const gpu::KernelDescription& kernel)
      : kernel_(kernel),
        module_(read_module(kernel.code.text, [&](const std::string& why) { refuse(why); })) {}

  SpirvInterface read() {
    const SpirvModule::EntryPoint& entry = entry_point();
    const auto found = module_.functions.find(entry.function);
    if (found == module_.functions.end()) refuse(text("it lacks the code of ", entry.name));
    const SpirvModule::Function& function = found->second;
    if (function.types.size() > most_arguments) {
      refuse(
          text("it has ", function.types.size(), " arguments, expected at most ", most_arguments));
    }
    SpirvInterface result;
    result.info.name = kernel_.name;
    result.info.workgroup_size = workgroup_size(entry.function);
    for (std::size_t i = 0; i < function.types.size(); ++i) {
      add_argument(result, i, function.parameters[i], function.types[i]);
    }
    result.info.params_bytes = rounded_up(result.info.params_bytes, params_alignment_);
    for (const std::uint32_t pointer : module_.workgroup_variables) {
      const SpirvModule::Type& type = module_.types[pointer];
      if (type.kind != Kind::pointer) refuse("a variable's type is no pointer");
      result.info.workgroup_bytes =
          std::min(result.info.workgroup_bytes + layout_of(type.parts[0]).bytes, most_bytes);
    }
    return result;
  }

 private:
  struct Layout {
    std::uint64_t bytes = 0, alignment = 1;
  };

  [[noreturn]] void refuse(const std::string& why) const {
    throw KernelError(text(kernel_.name, " cannot be taken: ", why));
  }

  const SpirvModule::EntryPoint& entry_point() const {
    std::string names;
    std::size_t listed = 0;
    for (const SpirvModule::EntryPoint& entry : module_.entry_points) {
      if (entry.name == kernel_.entry) return entry;
      if (++listed <= most_listed) names += text(names.empty() ? "" : ", ", entry.name);
    }
    if (listed > most_listed) names += text(" and ", listed - most_listed, " more");
    refuse(text("it has no kernel \"", kernel_.entry,
                "\"; its kernels are: ", names.empty() ? "none" : names));
  }

  std::array<std::uint32_t, 3> workgroup_size(std::uint32_t function) const {
    if (const auto found = module_.workgroup_sizes.find(function);
        found != module_.workgroup_sizes.end()) {
      const auto& size = found->second;
      if (size[0] == 0 || size[1] == 0 || size[2] == 0) refuse("its workgroups have no work-items");
      return size;
    }
    if (kernel_.group_size != 0) return {kernel_.group_size, 1, 1};
    refuse(
        "it does not say how large its workgroups are; declare "
        "__attribute__((reqd_work_group_size(x, y, z)))");
  }

  /// How C lays a type out.
  Layout layout_of(std::uint32_t id, int depth = 0) {
    if (const auto known = layouts_.find(id); known != layouts_.end()) return known->second;
    const auto found = module_.types.find(id);
    if (found == module_.types.end() || depth > most_nested) {
      refuse("a type of it is missing, or nested too deeply");
    }
    const SpirvModule::Type& type = found->second;
    Layout layout;
    if (type.kind == Kind::number) {
      if (type.bits == 0 || type.bits % 8 != 0 || type.bits > 64) {
        refuse(text("it has numbers of ", type.bits, " bits"));
      }
      layout = {type.bits / 8, type.bits / 8};
    } else if (type.kind == Kind::vector) {
      // Three elements take the room of four.
      const std::uint64_t room = type.count == 3 ? 4 : type.count;
      if (room == 0 || room > 16) refuse(text("it has vectors of ", type.count, " elements"));
      const Layout element = layout_of(type.parts[0], depth + 1);
      layout = {std::min(element.bytes * room, most_bytes), element.alignment * room};
    } else if (type.kind == Kind::array) {
      const Layout element = layout_of(type.parts[0], depth + 1);
      const bool fits = element.bytes == 0 || type.count <= most_bytes / element.bytes;
      layout = {fits ? element.bytes * type.count : most_bytes, element.alignment};
    } else if (type.kind == Kind::structure) {
      for (const std::uint32_t part : type.parts) {
        const Layout member = layout_of(part, depth + 1);
        // They would have no bound in number.
        if (member.bytes == 0) refuse("it has a structure with a member of no bytes");
        const std::uint64_t alignment = type.packed ? 1 : member.alignment;
        layout.bytes = std::min(rounded_up(layout.bytes, alignment) + member.bytes, most_bytes);
        layout.alignment = std::max(layout.alignment, alignment);
      }
      layout.bytes = rounded_up(layout.bytes, layout.alignment);
    } else if (type.kind == Kind::pointer) {
      layout = {sizeof(std::uint64_t), sizeof(std::uint64_t)};
    } else {
      refuse("it has a type of no known size");
    }
    // A vector of vectors, which SPIR-V does not have, could ask for any alignment.
    layout.alignment = std::min<std::uint64_t>(layout.alignment, 128);
    return layouts_[id] = layout;
  }

  /// "f32", "vec4<f32>"; numbers of no sign are "int32".
  std::string name_of_type(std::uint32_t id, int depth = 0) {
    const SpirvModule::Type& type = module_.types[id];
    if (depth > most_nested) return "bytes";
    switch (type.kind) {
      case Kind::number:
        return text(type.is_float ? "f" : type.is_signed ? "i" : "int", type.bits);
      case Kind::vector:
        return text("vec", type.count, "<", name_of_type(type.parts[0], depth + 1), ">");
      case Kind::array:
        return text("array<", name_of_type(type.parts[0], depth + 1), ", ", type.count, ">");
      default:
        return "struct";
    }
  }

  std::string name_of(std::uint32_t id, std::size_t index) const {
    const auto found = module_.names.find(id);
    return found == module_.names.end() || found->second.empty() ? text("argument", index)
                                                                 : found->second;
  }

  void add_argument(SpirvInterface& result, std::size_t index, std::uint32_t id,
                    std::uint32_t type_id) {
    const auto found = module_.types.find(type_id);
    if (found == module_.types.end() || found->second.kind == Kind::other) {
      refuse(text("argument ", index,
                  " is neither a buffer nor a value; images and samplers cannot be passed"));
    }
    const SpirvModule::Type type = found->second;
    if (type.kind != Kind::pointer) return add_value(result, name_of(id, index), type_id);
    if (type.storage == spirv::function && module_.has_attribute(id, spirv::by_value)) {
      return add_value(result, name_of(id, index), type.parts[0]);
    }
    if (type.storage == spirv::workgroup) {
      refuse(text("argument ", index,
                  " is a pointer to local memory; declare that inside of the kernel"));
    }
    if (type.storage != spirv::cross_workgroup && type.storage != spirv::uniform_constant) {
      refuse(text("argument ", index, " is a pointer to no buffer"));
    }
    const bool writable =
        type.storage == spirv::cross_workgroup && !module_.has_attribute(id, spirv::no_write);
    result.info.bindings.push_back({name_of(id, index), writable, 1});
    result.arguments.push_back({true});
  }

  void add_value(SpirvInterface& result, std::string name, std::uint32_t type_id) {
    const Layout layout = layout_of(type_id);
    if (layout.bytes == 0 || layout.bytes > most_params) {
      refuse(text("its parameter ", name, " has ", layout.bytes, " bytes, expected at most ",
                  most_params));
    }
    std::uint64_t& end = result.info.params_bytes;
    const std::uint64_t offset = rounded_up(end, layout.alignment);
    params_alignment_ = std::max(params_alignment_, layout.alignment);
    end = offset + layout.bytes;
    if (end > most_params) {
      refuse(text("its parameters have ", end, " bytes, expected at most ", most_params));
    }
    result.arguments.push_back({false, offset, layout.bytes});
    const SpirvModule::Type& type = module_.types[type_id];
    if (type.kind != Kind::structure) {
      result.info.params.push_back(
          {std::move(name), name_of_type(type_id), offset, bytes_of(type, layout)});
      return;
    }
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < type.parts.size(); ++i) {
      const Layout member = layout_of(type.parts[i]);
      at = rounded_up(at, type.packed ? 1 : member.alignment);
      const auto named = module_.member_names.find((std::uint64_t{type_id} << 32) | i);
      const SpirvModule::Type& part = module_.types[type.parts[i]];
      result.info.params.push_back(
          {named == module_.member_names.end() ? text("member", i) : named->second,
           name_of_type(type.parts[i]), offset + at, bytes_of(part, member)});
      at += member.bytes;
    }
  }

  /// Without the room of a fourth element that three do not fill.
  static std::uint64_t bytes_of(const SpirvModule::Type& type, const Layout& layout) {
    return type.kind == Kind::vector && type.count == 3 ? layout.bytes / 4 * 3 : layout.bytes;
  }

  static constexpr std::uint64_t most_params = 64 << 10;

  const gpu::KernelDescription& kernel_;
  SpirvModule module_;
  std::unordered_map<std::uint32_t, Layout> layouts_;
  std::uint64_t params_alignment_ = 1;
};

}  // namespace

bool is_spirv(std::string_view code) {
  std::uint32_t first = 0;
  if (code.size() < sizeof first) return false;
  std::memcpy(&first, code.data(), sizeof first);
  return first == spirv::magic;
}

SpirvInterface interface_of(const gpu::KernelDescription& kernel) { return Reader(kernel).read(); }

}  // namespace tilewright::level_zero
