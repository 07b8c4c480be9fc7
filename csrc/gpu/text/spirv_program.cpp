#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/program/program_data.hpp"
#include "core/text.hpp"
#include "gpu/text/program_form.hpp"
#include "gpu/text/spirv_values.hpp"
#include "gpu/text/spirv_writer.hpp"
#include "tilewright/error.hpp"

// Kernels of programs in SPIR-V: index arithmetic, and calls of
// kernels/opencl/program_functions.cl.
namespace tilewright::gpu {

namespace {

constexpr std::string_view entry = "program";
constexpr std::uint32_t quad = 4;

class Printer {
 public:
  Printer(const ProgramData& program, const ProgramForm& form)
      : program_(program),
        form_(form),
        needed_(program.needed()),
        shared_(program.nodes.size()),
        starts_(form.operands.size()),
        strides_(form.operands.size()) {
    if (form.counted) throw KernelError("map: kernels in SPIR-V are told how many elements");
  }

  KernelDescription print() {
    begin();
    read_params();
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const std::uint32_t node = program_.inputs[i];
      if (form_.operands[i].walk == Walk::one) shared_[node] = loaded(i, wide(starts_[i]));
    }
    compute(shared_);
    const Id group = w_.call("group_number", {});
    const Id local = w_.call("item_of_group", {});
    switch (form_.layout) {
      case Layout::flat:
        flat(group, local);
        break;
      case Layout::rows:
        rows(item_of(group, local));
        break;
      case Layout::split:
        split(item_of(group, local));
        break;
      case Layout::tiles:  // never planned for this language
      case Layout::single: {
        const Id item = item_of(group, local);
        if_(less(item, wide(n_)), [&] { one(item); });
        break;
      }
    }
    w_.write(SpirvOp::return_, {});
    w_.write(SpirvOp::function_end, {});

    KernelDescription kernel;
    kernel.name = "map";
    kernel.entry = entry;
    kernel.trusted = true;
    kernel.group_size = form_.group;
    kernel.code.text = w_.module(kernel_, entry, form_.group);
    return kernel;
  }

 private:
  using Id = SpirvWriter::Id;
  /// The values of the nodes for one element; 0 for those that are not there yet.
  using Values = std::vector<Id>;

  // The kernel's arguments ------------------------------------------------------------------------

  void begin() {
    const std::uint32_t words = params_words(program_, form_);
    std::vector<std::uint32_t> arguments(form_.bindings(), buffer_type_);
    if (form_.params_in_buffer) arguments.push_back(buffer_type_);
    if (!form_.params_in_buffer) {
      const std::vector<std::uint32_t> members(words, u32_);
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

  Id next_word() {
    const Id place = u32(word_++);
    const Id params = arguments_.back();
    if (form_.params_in_buffer) return w_.call("load_uint32", {params, wide(place)});
    const Id member = w_.value(SpirvOp::in_bounds_access_chain, member_type_, {params, place});
    constexpr std::uint32_t aligned = 2;
    return w_.value(SpirvOp::load, u32_, {member, aligned, sizeof(std::uint32_t)});
  }

  void read_params() {
    n_ = next_word();
    if (form_.layout == Layout::split) shift_ = next_word();
    for (std::uint32_t d = 0; d < form_.rank; ++d) shape_.push_back(next_word());
    for (std::size_t i = 0; i < form_.operands.size(); ++i) {
      const OperandForm& operand = form_.operands[i];
      starts_[i] = form_.has_start(operand) ? next_word() : u32(0);
      if (!form_.has_strides(operand)) continue;
      for (std::uint32_t d = 0; d < form_.rank; ++d) strides_[i].push_back(next_word());
    }
    for (const std::uint32_t node : program_.numbers) {
      const DType dtype = program_.nodes[node].dtype;
      const Id low = next_word();
      const Id high = number_words(dtype) == 2 ? next_word() : 0;
      if (needed_[node]) shared_[node] = spirv_of_words(w_, class_of(dtype), low, high);
    }
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const ProgramNode& node = program_.nodes[i];
      if (node.kind == NodeKind::constant && needed_[i]) {
        shared_[i] = spirv_constant(w_, class_of(node.dtype), class_bits(node.dtype, node.bits));
      }
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

  template <class Body>
  void if_(Id condition, const Body& body) {
    const Id then = w_.new_id(), end = w_.new_id();
    w_.write(SpirvOp::branch_conditional, {condition, then, end});
    label(then);
    body();
    go_to(end);
    label(end);
  }

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

  // Values ----------------------------------------------------------------------------------------

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

  // Memory ----------------------------------------------------------------------------------------

  DType dtype_of(std::size_t operand) const { return operand_dtype(program_, operand); }
  Id buffer_of(std::size_t operand) const { return arguments_[form_.operands[operand].binding]; }

  Id loaded(std::size_t operand, Id place) {
    const Id element =
        w_.call(text("load_", to_string(dtype_of(operand))), {buffer_of(operand), place});
    return of_memory(operand, element);
  }
  Id of_memory(std::size_t operand, Id element) {
    return dtype_of(operand) == DType::boolean ? w_.call("cast_u32_bool", {element}) : element;
  }
  Id to_memory(std::size_t operand, Id value) {
    return dtype_of(operand) == DType::boolean ? w_.call("cast_bool_uint32", {value}) : value;
  }

  /// Four elements from `place` on, each into its own values.
  void load_four(std::size_t operand, Id place, std::span<Values> four) {
    const std::string name = text("load_four_", to_string(dtype_of(operand)));
    const Id vector = w_.call(name, {buffer_of(operand), place});
    const std::uint32_t node = program_.inputs[operand];
    const Id element = w_.types_of(text("load_", to_string(dtype_of(operand))))[0];
    for (std::uint32_t j = 0; j < quad; ++j) {
      four[j][node] =
          of_memory(operand, w_.value(SpirvOp::composite_extract, element, {vector, j}));
    }
  }
  void store_four(std::size_t operand, Id place, std::span<const Values> four) {
    const std::string name = text("store_four_", to_string(dtype_of(operand)));
    const std::uint32_t node = program_.outputs[operand - program_.inputs.size()];
    std::array<Id, quad> elements;
    for (std::uint32_t j = 0; j < quad; ++j) elements[j] = to_memory(operand, four[j][node]);
    const Id vector = w_.value(SpirvOp::composite_construct, w_.types_of(name)[3],
                               {elements[0], elements[1], elements[2], elements[3]});
    w_.call(name, {buffer_of(operand), place, vector});
  }
  void store(std::size_t operand, Id place, const Values& values) {
    const std::uint32_t node = program_.outputs[operand - program_.inputs.size()];
    w_.call(text("store_", to_string(dtype_of(operand))),
            {buffer_of(operand), place, to_memory(operand, values[node])});
  }

  // Walks -----------------------------------------------------------------------------------------

  Id item_of(Id group, Id local) { return add(times(group, u64(form_.group)), local); }

  /// The indices of an element, or of a quad's first one, by the number of the one or the other.
  std::vector<Id> indices_of(Id number, bool of_quad) {
    std::vector<Id> indices(form_.rank);
    if (indices.empty()) return indices;
    Id rest = narrow(number);
    for (std::size_t d = form_.rank; d-- > 0;) {
      const bool inner = of_quad && d + 1 == form_.rank;
      const Id size = inner ? u32_value(SpirvOp::divide_unsigned, shape_[d], u32(quad)) : shape_[d];
      Id index = rest;
      if (d > 0) {
        const Id quotient = u32_value(SpirvOp::divide_unsigned, rest, size);
        index = u32_value(SpirvOp::subtract, rest, u32_value(SpirvOp::multiply, quotient, size));
        rest = quotient;
      }
      indices[d] = inner ? u32_value(SpirvOp::multiply, index, u32(quad)) : index;
    }
    return indices;
  }
  Id u32_value(SpirvOp op, Id a, Id b) { return w_.value(op, u32_, {a, b}); }

  /// Where the element is; counted in 32 bits, as strides are that go back.
  Id place_of(std::size_t operand, const std::vector<Id>& indices) {
    Id place = starts_[operand];
    for (std::size_t d = 0; d < strides_[operand].size(); ++d) {
      place = u32_value(SpirvOp::add, place,
                        u32_value(SpirvOp::multiply, indices[d], strides_[operand][d]));
    }
    return place;
  }

  template <class Call>
  void for_inputs(const Call& call) {
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const Walk walk = form_.operands[i].walk;
      if (walk != Walk::none && walk != Walk::one) call(i, walk);
    }
  }
  template <class Call>
  void for_outputs(const Call& call) {
    for (std::size_t i = program_.inputs.size(); i < form_.operands.size(); ++i) {
      call(i, form_.operands[i].walk);
    }
  }

  /// The element number i, by itself.
  void one(Id i) {
    const std::vector<Id> indices = indices_of(i, false);
    const auto place = [&](std::size_t operand) {
      if (form_.has_strides(form_.operands[operand])) return wide(place_of(operand, indices));
      return add(wide(starts_[operand]), i);
    };
    Values values = shared_;
    for_inputs([&](std::size_t operand, Walk) {
      values[program_.inputs[operand]] = loaded(operand, place(operand));
    });
    compute(values);
    for_outputs([&](std::size_t operand, Walk) { store(operand, place(operand), values); });
  }

  void flat(Id group, Id local) {
    const std::uint32_t chunk = form_.group * form_.vectors * quad;
    const Id base = times(group, u64(chunk));
    const Id end = add(base, u64(chunk));
    const Id n = wide(n_);
    const Id whole = w_.new_id(), rest = w_.new_id(), after = w_.new_id();
    w_.write(SpirvOp::branch_conditional, {less(n, end), rest, whole});
    label(whole);
    std::vector<Values> values(form_.vectors * quad, shared_);
    const auto four = [&](std::uint32_t v) { return std::span(values).subspan(v * quad, quad); };
    const auto place = [&](std::size_t operand, std::uint32_t v) {
      const Id first = times(add(local, u64(v * form_.group)), u64(quad));
      return add(wide(starts_[operand]), add(base, first));
    };
    for_inputs([&](std::size_t operand, Walk) {
      for (std::uint32_t v = 0; v < form_.vectors; ++v) {
        load_four(operand, place(operand, v), four(v));
      }
    });
    // One quad at a time, so that few results are alive.
    for (std::uint32_t v = 0; v < form_.vectors; ++v) {
      for (Values& element : four(v)) compute(element);
      for_outputs(
          [&](std::size_t operand, Walk) { store_four(operand, place(operand, v), four(v)); });
    }
    go_to(after);
    label(rest);
    for_(add(base, local), n, u64(form_.group), [&](Id i) { one(i); });
    go_to(after);
    label(after);
  }

  void rows(Id item) {
    const Id first = times(item, u64(quad));
    if_(less(first, wide(n_)), [&] {
      const std::vector<Id> indices = indices_of(item, true);
      std::array<Values, quad> values;
      values.fill(shared_);
      const auto apart = [&](std::size_t operand, Id place, std::uint32_t j) {
        return wide(u32_value(SpirvOp::add, place,
                              u32_value(SpirvOp::multiply, u32(j), strides_[operand].back())));
      };
      for_inputs([&](std::size_t operand, Walk walk) {
        const std::uint32_t node = program_.inputs[operand];
        const Id place = place_of(operand, indices);
        if (walk == Walk::quads) return load_four(operand, wide(place), values);
        const Id same = walk == Walk::row ? loaded(operand, wide(place)) : 0;
        for (std::uint32_t j = 0; j < quad; ++j) {
          values[j][node] = same != 0 ? same : loaded(operand, apart(operand, place, j));
        }
      });
      for (Values& element : values) compute(element);
      for_outputs([&](std::size_t operand, Walk walk) {
        const Id place = place_of(operand, indices);
        if (walk == Walk::quads) return store_four(operand, wide(place), values);
        for (std::uint32_t j = 0; j < quad; ++j) {
          store(operand, apart(operand, place, j), values[j]);
        }
      });
    });
  }

  void split(Id item) {
    const Id shift = wide(shift_);
    const Id first = w_.value(SpirvOp::subtract, u64_, {times(item, u64(quad)), shift});
    const Id end = w_.call("op_min_i64", {add(first, u64(quad)), wide(n_)});
    for_(w_.call("op_max_i64", {first, u64(0)}), end, u64(1), [&](Id i) { one(i); });
  }

  const ProgramData& program_;
  const ProgramForm& form_;
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
  std::uint32_t word_ = 0;  // of the parameters, the next to be read
  Id n_ = 0, shift_ = 0;
  std::vector<Id> shape_;
  Values shared_;                         // of what is the same for all elements
  std::vector<Id> starts_;                // by operand, 32 bits
  std::vector<std::vector<Id>> strides_;  // the same, of its dimensions
};

}  // namespace

KernelDescription spirv_program(const ProgramData& program, const ProgramForm& form) {
  return Printer(program, form).print();
}

}  // namespace tilewright::gpu
