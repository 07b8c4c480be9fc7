#include "webgpu/wgsl_interface.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/text.hpp"
#include "tilewright/error.hpp"
#include "webgpu/wgsl_declarations.hpp"

namespace tilewright::webgpu {

namespace {

using Variable = Declarations::Variable;
using Function = Declarations::Function;

class Interface {
 public:
  Interface(const gpu::KernelDescription& kernel, const std::vector<Token>& tokens)
      : kernel_(kernel), module_(kernel.code, tokens) {
    read_.info.name = kernel.name;
  }

  WgslInterface read() {
    const Function& entry = entry_point();
    for (const Variable& variable : module_.variables()) {
      if (variable.attributes.count("binding") != 0) {
        bind(variable);
      } else if (variable.space == "immediate") {
        set_params(variable);
      }
    }
    name_bindings();
    set_workgroup_size(entry);
    for (const Variable* variable : workgroup_variables(entry)) {
      constexpr std::uint64_t alignment = 16;
      const std::uint64_t bytes = module_.type(variable->type).bytes;
      read_.info.workgroup_bytes += (bytes + alignment - 1) / alignment * alignment;
    }
    return std::move(read_);
  }

 private:
  const Function& entry_point() const {
    std::string names;
    for (const auto& [name, function] : module_.functions()) {
      if (function.attributes.count("compute") == 0) continue;
      if (name == kernel_.entry) return function;
      names += text(names.empty() ? "" : ", ", name);
    }
    throw KernelError(text(kernel_.name, ": no @compute function is named ", kernel_.entry,
                           names.empty() ? "; there is none" : "; there are ", names));
  }

  void bind(const Variable& variable) {
    if (variable.space != "storage") {
      refuse(kernel_.code, variable.line,
             text(variable.name, " is bound as ",
                  variable.space.empty() ? "a texture or sampler" : variable.space,
                  ", expected var<storage, read> or var<storage, read_write>; small values go "
                  "into a var<immediate>"));
    }
    const std::int64_t number = module_.number(variable.attributes.at("binding"));
    const auto group = variable.attributes.find("group");
    if (group != variable.attributes.end() && module_.number(group->second) != 0) {
      refuse(kernel_.code, variable.line, text(variable.name, " is in a group other than 0"));
    }
    const auto [other, fresh] = bindings_.emplace(number, &variable);
    if (!fresh) {
      refuse(kernel_.code, variable.line,
             text(variable.name, " has the binding ", number, ", as ", other->second->name,
                  " does; number them from 0 on, each once"));
    }
  }

  void name_bindings() {
    for (const auto& [number, variable] : bindings_) {
      if (number != static_cast<std::int64_t>(read_.info.bindings.size())) {
        refuse(kernel_.code, variable->line,
               text(variable->name, " has the binding ", number, ", expected ",
                    read_.info.bindings.size(), "; number them from 0 on, each once"));
      }
      read_.info.bindings.push_back({std::string(variable->name), variable->access == "read_write",
                                     module_.type(variable->type).bytes});
    }
  }

  void set_params(const Variable& variable) {
    if (read_.info.params_bytes != 0) {
      refuse(kernel_.code, variable.line,
             text(variable.name, " is a second var<immediate>; put both into one struct"));
    }
    const Declarations::Type type = module_.type(variable.type);
    read_.info.params_bytes = type.bytes;
    for (const Declarations::Member& member : module_.members(variable.type)) {
      read_.info.params.push_back(
          {member.name, member.type.name, member.offset, member.type.bytes});
      note_obstacle(text(variable.name, ".", member.name), member.type);
    }
    if (read_.info.params.empty()) {
      read_.info.params.push_back({std::string(variable.name), type.name, 0, type.bytes});
      note_obstacle(variable.name, type);
    }
    read_.params_line = variable.line;
  }

  void note_obstacle(std::string_view name, const Declarations::Type& type) {
    if (!read_.uniform_obstacle.empty() || type.uniform_obstacle.empty()) return;
    read_.uniform_obstacle = text(name, " is ", type.name,
                                  ", but this device takes these parameters from a uniform buffer, "
                                  "which has no ",
                                  type.uniform_obstacle);
  }

  void set_workgroup_size(const Function& entry) {
    std::size_t dimension = 0;
    for (const auto place : module_.arguments(entry.attributes.at("workgroup_size"))) {
      read_.info.workgroup_size[dimension++] = static_cast<std::uint32_t>(module_.number(place));
    }
  }

  /// The workgroup variables in the functions that a function can call, itself among them.
  std::set<const Variable*> workgroup_variables(const Function& entry) const {
    std::map<std::string_view, const Variable*> named;
    for (const Variable& variable : module_.variables()) {
      if (variable.space == "workgroup") named.emplace(variable.name, &variable);
    }
    std::set<const Variable*> found;
    std::set<const Function*> seen{&entry};
    std::vector<const Function*> waiting{&entry};
    while (!named.empty() && !waiting.empty()) {
      const Function* function = waiting.back();
      waiting.pop_back();
      for (const std::string_view name : module_.inside(function->body)) {
        if (const auto variable = named.find(name); variable != named.end()) {
          found.insert(variable->second);
        }
        const auto called = module_.functions().find(name);
        if (called != module_.functions().end() && seen.insert(&called->second).second) {
          waiting.push_back(&called->second);
        }
      }
    }
    return found;
  }

  const gpu::KernelDescription& kernel_;
  const Declarations module_;
  std::map<std::int64_t, const Variable*> bindings_;
  WgslInterface read_;
};

}  // namespace

WgslInterface interface_of(const gpu::KernelDescription& kernel, const std::vector<Token>& tokens) {
  return Interface(kernel, tokens).read();
}

}  // namespace tilewright::webgpu
