#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/program/program_data.hpp"
#include "core/text.hpp"
#include "gpu/text/program_form.hpp"
#include "gpu/text/spirv_values.hpp"
#include "gpu/text/spirv_writer.hpp"

// Kernels in SPIR-V of a program over several groups of operands: a switch takes the pointers of
// the group that a workgroup is of, and all else is as for one.
namespace tilewright::gpu {

namespace {

constexpr std::uint32_t quad = 4;

class Printer {
 public:
  Printer(const ProgramData& program, const ProgramForm& form)
      : program_(program),
        form_(form),
        operands_(form.operands.size() / form.groups),
        numbers_at_(params_words(program, form) - number_words(program)),
        needed_(program.needed()),
        shared_(program.nodes.size()) {}

  KernelDescription print() {
    begin();
    read_numbers();
    compute(shared_);
    const Id number = narrow(w_.call("group_number", {}));
    choose(number);
    walk(w_.value(SpirvOp::subtract, u32_, {number, first_}), w_.call("item_of_group", {}));
    w_.write(SpirvOp::return_, {});
    w_.write(SpirvOp::function_end, {});

    KernelDescription kernel;
    kernel.name = "map_many";
    kernel.entry = "program";
    kernel.trusted = true;
    kernel.group_size = form_.group;
    kernel.code.text = w_.module(kernel_, "program", form_.group);
    return kernel;
  }

 private:
  using Id = SpirvWriter::Id;
  /// The values of the nodes for one element; 0 for those that are not there yet.
  using Values = std::vector<Id>;

  std::size_t inputs() const { return program_.inputs.size(); }
  const OperandForm& form(std::size_t group, std::size_t o) const {
    return form_.operands[group * operands_ + o];
  }
  bool is_used(std::size_t o) const { return form(0, o).walk != Walk::none; }
  DType dtype(std::size_t o) const { return operand_dtype(program_, o); }

  // The kernel's arguments ------------------------------------------------------------------------

  void begin() {
    std::vector<std::uint32_t> arguments(form_.bindings(), buffer_type_);
    if (form_.params_in_buffer) {
      arguments.push_back(buffer_type_);
    } else {
      const std::vector<std::uint32_t> members(params_words(program_, form_), u32_);
      constexpr std::uint32_t storage_function = 7;
      const Id params = w_.type(SpirvOp::type_struct, members);
      arguments.push_back(w_.type(SpirvOp::type_pointer, {storage_function, params}));
      member_type_ = w_.type(SpirvOp::type_pointer, {storage_function, u32_});
    }
    std::vector<std::uint32_t> types{w_.type(SpirvOp::type_void, {})};
    types.insert(types.end(), arguments.begin(), arguments.end());
    kernel_ = w_.new_id();
    w_.write(SpirvOp::function, {types[0], kernel_, 0, w_.type(SpirvOp::type_function, types)});
    for (const std::uint32_t type : arguments) {
      arguments_.push_back(w_.value(SpirvOp::function_parameter, type, {}));
    }
    constexpr std::uint32_t parameter_attribute = 38, by_value = 2, no_write = 6;
    std::vector<bool> writable(arguments_.size());
    for (const OperandForm& operand : form_.operands) {
      if (operand.walk != Walk::none && operand.writable) writable[operand.binding] = true;
    }
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const bool is_struct = i + 1 == arguments_.size() && !form_.params_in_buffer;
      if (writable[i]) continue;
      w_.decorate({arguments_[i], parameter_attribute, is_struct ? by_value : no_write});
    }
    label(w_.new_id());
  }

  Id word(std::uint32_t at) {
    const Id place = u32(at);
    const Id params = arguments_.back();
    if (form_.params_in_buffer) return w_.call("load_uint32", {params, wide(place)});
    const Id member = w_.value(SpirvOp::in_bounds_access_chain, member_type_, {params, place});
    constexpr std::uint32_t aligned = 2;
    return w_.value(SpirvOp::load, u32_, {member, aligned, sizeof(std::uint32_t)});
  }

  void read_numbers() {
    std::uint32_t at = numbers_at_;
    for (const std::uint32_t node : program_.numbers) {
      const DType type = program_.nodes[node].dtype;
      const std::uint32_t words = number_words(type);
      if (needed_[node]) {
        const Id low = word(at);
        shared_[node] = spirv_of_words(w_, class_of(type), low, words == 2 ? word(at + 1) : 0);
      }
      at += words;
    }
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const ProgramNode& node = program_.nodes[i];
      if (node.kind == NodeKind::constant && needed_[i]) {
        shared_[i] = spirv_constant(w_, class_of(node.dtype), class_bits(node.dtype, node.bits));
      }
    }
  }

  /// What the group of a workgroup has: its first workgroup, its length, its operands.
  void choose(Id number) {
    const std::uint32_t words = numbers_at_ / form_.groups;
    Id slot = u32(0);
    for (std::uint32_t g = 1; g < form_.groups; ++g) {
      const Id is_before = w_.value(SpirvOp::unsigned_less, bool_, {number, word(g * words)});
      const Id one = w_.value(SpirvOp::select, u32_, {is_before, u32(0), u32(1)});
      slot = w_.value(SpirvOp::add, u32_, {slot, one});
    }
    std::vector<Id> labels(form_.groups);
    for (Id& one : labels) one = w_.new_id();
    const Id after = w_.new_id();
    std::vector<std::uint32_t> cases{slot, labels.back()};
    for (std::uint32_t g = 0; g + 1 < form_.groups; ++g) cases.insert(cases.end(), {g, labels[g]});
    w_.write(SpirvOp::switch_, cases);
    std::vector<std::vector<Id>> taken(form_.groups);  // of each group, in the order of phis below
    for (std::uint32_t g = 0; g < form_.groups; ++g) {
      label(labels[g]);
      std::uint32_t at = g * words;
      taken[g].push_back(word(at++));
      taken[g].push_back(word(at++));
      for (std::size_t o = 0; o < operands_; ++o) {
        if (!is_used(o)) continue;
        taken[g].push_back(arguments_[form(g, o).binding]);
        if (form_.starts) taken[g].push_back(word(at++));
      }
      w_.write(SpirvOp::branch, {after});
    }
    label(after);
    std::size_t next = 0;
    const auto phi = [&](Id type) {
      const Id result = w_.new_id();
      std::vector<std::uint32_t> all{type, result};
      for (std::uint32_t g = 0; g < form_.groups; ++g) {
        all.insert(all.end(), {taken[g][next], labels[g]});
      }
      ++next;
      w_.write(SpirvOp::phi, all);
      return result;
    };
    first_ = phi(u32_);
    n_ = phi(u32_);
    buffers_.resize(operands_);
    starts_.assign(operands_, u32(0));
    for (std::size_t o = 0; o < operands_; ++o) {
      if (!is_used(o)) continue;
      buffers_[o] = phi(buffer_type_);
      if (form_.starts) starts_[o] = phi(u32_);
    }
  }

  // Types, arithmetic, control --------------------------------------------------------------------

  Id u32(std::uint32_t value) { return w_.constant(u32_, {value}); }
  Id u64(std::uint32_t value) { return w_.constant(u64_, {value, 0}); }
  Id wide(Id x) { return w_.value(SpirvOp::convert_u, u64_, {x}); }
  Id narrow(Id x) { return w_.value(SpirvOp::convert_u, u32_, {x}); }
  Id add(Id a, Id b) { return w_.value(SpirvOp::add, u64_, {a, b}); }
  Id times(Id a, Id b) { return w_.value(SpirvOp::multiply, u64_, {a, b}); }
  Id less(Id a, Id b) { return w_.value(SpirvOp::unsigned_less, bool_, {a, b}); }

  void label(Id id) {
    w_.write(SpirvOp::label, {id});
    block_ = id;
  }
  void go_to(Id id) { w_.write(SpirvOp::branch, {id}); }

  /// For each i from `first` on below `end`.
  template <class Body>
  void for_(Id first, Id end, Id step, const Body& body) {
    const Id before = block_, head = w_.new_id(), inside = w_.new_id(), after = w_.new_id();
    const Id next = w_.new_id(), last = w_.new_id();
    go_to(head);
    label(head);
    const Id i = w_.value(SpirvOp::phi, u64_, {first, before, next, last});
    w_.write(SpirvOp::branch_conditional, {less(i, end), inside, after});
    label(inside);
    body(i);
    go_to(last);
    label(last);
    w_.write(SpirvOp::add, {u64_, next, i, step});
    go_to(head);
    label(after);
  }

  // Values and memory -----------------------------------------------------------------------------

  /// All ops that are needed, not there, and have their operands there.
  void compute(Values& values) {
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const ProgramNode& node = program_.nodes[i];
      if (!needed_[i] || values[i] != 0 || node.operand_count() == 0) continue;
      bool ready = true;
      for (std::uint32_t o = 0; o < node.operand_count(); ++o) {
        ready = ready && values[node.operands[o]] != 0;
      }
      if (ready) values[i] = spirv_op(w_, program_, node, values);
    }
  }
  Id of_memory(std::size_t o, Id element) {
    return dtype(o) == DType::boolean ? w_.call("cast_u32_bool", {element}) : element;
  }
  Id to_memory(std::size_t o, Id value) {
    return dtype(o) == DType::boolean ? w_.call("cast_bool_uint32", {value}) : value;
  }
  std::uint32_t node_of(std::size_t o) const {
    return o < inputs() ? program_.inputs[o] : program_.outputs[o - inputs()];
  }
  Id place_of(std::size_t o, Id i) { return form_.starts ? add(wide(starts_[o]), i) : i; }

  void load_four(std::size_t o, Id place, std::span<Values> four) {
    const Id vector =
        w_.call(text("load_four_", to_string(dtype(o))), {buffers_[o], place_of(o, place)});
    const Id element = w_.types_of(text("load_", to_string(dtype(o))))[0];
    for (std::uint32_t j = 0; j < quad; ++j) {
      four[j][node_of(o)] =
          of_memory(o, w_.value(SpirvOp::composite_extract, element, {vector, j}));
    }
  }
  void store_four(std::size_t o, Id place, std::span<const Values> four) {
    const std::string name = text("store_four_", to_string(dtype(o)));
    std::array<Id, quad> elements;
    for (std::uint32_t j = 0; j < quad; ++j) elements[j] = to_memory(o, four[j][node_of(o)]);
    const Id vector = w_.value(SpirvOp::composite_construct, w_.types_of(name)[3],
                               {elements[0], elements[1], elements[2], elements[3]});
    w_.call(name, {buffers_[o], place_of(o, place), vector});
  }
  void one(Id i) {
    Values values = shared_;
    for (std::size_t o = 0; o < inputs(); ++o) {
      if (!is_used(o)) continue;
      const std::string name = text("load_", to_string(dtype(o)));
      values[node_of(o)] = of_memory(o, w_.call(name, {buffers_[o], place_of(o, i)}));
    }
    compute(values);
    for (std::size_t o = inputs(); o < operands_; ++o) {
      w_.call(text("store_", to_string(dtype(o))),
              {buffers_[o], place_of(o, i), to_memory(o, values[node_of(o)])});
    }
  }

  void walk(Id number, Id local) {
    const std::uint32_t chunk = form_.group * form_.vectors * quad;
    const Id base = times(wide(number), u64(chunk));
    const Id end = add(base, u64(chunk));
    const Id n = wide(n_);
    const Id whole = w_.new_id(), rest = w_.new_id(), after = w_.new_id();
    w_.write(SpirvOp::branch_conditional, {less(n, end), rest, whole});
    label(whole);
    std::vector<Values> values(form_.vectors * quad, shared_);
    const auto four = [&](std::uint32_t v) { return std::span(values).subspan(v * quad, quad); };
    const auto place = [&](std::uint32_t v) {
      return add(base, times(add(local, u64(v * form_.group)), u64(quad)));
    };
    for (std::size_t o = 0; o < inputs(); ++o) {
      if (!is_used(o)) continue;
      for (std::uint32_t v = 0; v < form_.vectors; ++v) load_four(o, place(v), four(v));
    }
    // One quad at a time, so that few results are alive.
    for (std::uint32_t v = 0; v < form_.vectors; ++v) {
      for (Values& element : four(v)) compute(element);
      for (std::size_t o = inputs(); o < operands_; ++o) store_four(o, place(v), four(v));
    }
    go_to(after);
    label(rest);
    for_(add(base, local), n, u64(form_.group), [&](Id i) { one(i); });
    go_to(after);
    label(after);
  }

  const ProgramData& program_;
  const ProgramForm& form_;
  const std::size_t operands_;  // of a group
  const std::uint32_t numbers_at_;
  SpirvWriter w_{program_library()};
  const std::vector<bool> needed_;
  const Id bool_ = w_.type(SpirvOp::type_bool, {});
  const Id u32_ = w_.type(SpirvOp::type_int, {32, 0});
  const Id u64_ = w_.type(SpirvOp::type_int, {64, 0});
  const Id buffer_type_ = w_.types_of("load_bool")[1];
  Id member_type_ = 0;  // what points to a word of the parameters
  Id kernel_ = 0;
  Id block_ = 0;  // the label of the block that is being written
  std::vector<Id> arguments_;
  Values shared_;                     // of what is the same for all elements
  Id first_ = 0, n_ = 0;              // of the group: its first workgroup, its length
  std::vector<Id> buffers_, starts_;  // of its operands
};

}  // namespace

KernelDescription spirv_groups(const ProgramData& program, const ProgramForm& form) {
  return Printer(program, form).print();
}

}  // namespace tilewright::gpu
