#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "gpu/text/kernel_builder.hpp"
#include "gpu/text/program_form.hpp"
#include "gpu/text/spirv_values.hpp"
#include "gpu/text/spirv_writer.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

constexpr std::string_view entry = "program";
constexpr std::uint32_t storage_workgroup = 4, storage_function = 7;

/// Words and flags are ids; a quad is four of them. Places are counted in 32 bits, as strides are
/// that go back, and widened where memory is touched.
class SpirvBuilder final : public KernelBuilder {
 public:
  using Id = SpirvWriter::Id;

  explicit SpirvBuilder(const Layout& layout)
      : name_(layout.name),
        group_(layout.group),
        in_buffer_(layout.params_in_buffer),
        operands_(layout.operands.begin(), layout.operands.end()) {
    begin(layout.words, layout.variables);
  }

  Word word(std::uint32_t value) override { return static_cast<Word>(u32(value)); }
  Word parameter() override { return static_cast<Word>(next_word()); }
  Word group() override { return static_cast<Word>(narrow(w_.call("group_number", {}))); }
  Word local() override { return static_cast<Word>(narrow(w_.call("item_of_group", {}))); }
  Word arithmetic(Arithmetic op, Word a, Word b) override {
    constexpr std::array ops{SpirvOp::add, SpirvOp::subtract, SpirvOp::multiply,
                             SpirvOp::divide_unsigned, SpirvOp::remainder_unsigned};
    return static_cast<Word>(w_.value(ops[static_cast<std::size_t>(op)], u32_, {id(a), id(b)}));
  }
  Flag less(Word a, Word b) override {
    return static_cast<Flag>(w_.value(SpirvOp::unsigned_less, bool_, {id(a), id(b)}));
  }
  Flag both(Flag a, Flag b) override {
    return static_cast<Flag>(w_.value(SpirvOp::logical_and, bool_, {id(a), id(b)}));
  }
  Word select(Flag flag, Word a, Word b) override {
    return static_cast<Word>(w_.value(SpirvOp::select, u32_, {id(flag), id(a), id(b)}));
  }
  void when(Flag flag, const std::function<void()>& body) override { if_(id(flag), body); }
  void loop(Word first, Word end, Word step, const std::function<void(Word)>& body) override {
    const Id before = block_, head = w_.new_id(), inside = w_.new_id(), after = w_.new_id();
    const Id next = w_.new_id(), last = w_.new_id();
    go_to(head);
    label(head);
    const Id i = w_.value(SpirvOp::phi, u32_, {id(first), before, next, last});
    const Id goes_on = w_.value(SpirvOp::unsigned_less, bool_, {i, id(end)});
    w_.write(SpirvOp::branch_conditional, {goes_on, inside, after});
    label(inside);
    body(static_cast<Word>(i));
    go_to(last);
    label(last);
    w_.write(SpirvOp::add, {u32_, next, i, id(step)});
    go_to(head);
    label(after);
  }

  Quad quad(Word word) override { return of({id(word), id(word), id(word), id(word)}); }
  Quad constant(DType dtype, std::uint64_t bits) override {
    const Id one = spirv_constant(w_, class_of(dtype), bits);
    return of({one, one, one, one});
  }
  Quad lanes() override { return of({u32(0), u32(1), u32(2), u32(3)}); }
  Quad apply(ElementOp op, DType dtype, DType, std::span<const Quad> given) override {
    const std::string name = text("op_", info_of(op).name, "_", to_string(class_of(dtype)));
    std::array<Id, 4> all;
    for (std::size_t lane = 0; lane < all.size(); ++lane) {
      std::vector<Id> operands;
      for (const Quad quad : given) operands.push_back(lanes_of(quad)[lane]);
      all[lane] = repeated(given, lane) ? all[0] : w_.call(name, operands);
    }
    return of(all);
  }
  Quad rotated(Quad quad, std::uint32_t by) override {
    const auto all = lanes_of(quad);
    return of({all[by % 4], all[(by + 1) % 4], all[(by + 2) % 4], all[(by + 3) % 4]});
  }
  Quad shifted(Quad quad, std::uint32_t by, Quad fill) override {
    std::array<Id, 4> all = lanes_of(fill);
    for (std::uint32_t lane = by; lane < 4; ++lane) all[lane] = lanes_of(quad)[lane - by];
    return of(all);
  }
  Quad spread(Quad quad, std::uint32_t lane) override {
    const Id one = lanes_of(quad)[lane];
    return of({one, one, one, one});
  }

  Variable variable(DType dtype, Quad start) override {
    variables_.push_back({});
    const auto variable = static_cast<Variable>(variables_.size() - 1);
    const Id type = type_of(dtype);
    for (Id& place : variables_.back().places) place = take_place(type);
    variables_.back().type = type;
    set(variable, start);
    return variable;
  }
  Quad get(Variable variable) override {
    const Stored& stored = variables_[static_cast<std::size_t>(variable)];
    std::array<Id, 4> all;
    for (std::size_t lane = 0; lane < all.size(); ++lane) {
      all[lane] = w_.value(SpirvOp::load, stored.type, {stored.places[lane]});
    }
    return of(all);
  }
  void set(Variable variable, Quad value) override {
    const Stored& stored = variables_[static_cast<std::size_t>(variable)];
    for (std::size_t lane = 0; lane < 4; ++lane) {
      w_.write(SpirvOp::store, {stored.places[lane], lanes_of(value)[lane]});
    }
  }

  Local local_array(DType dtype, std::uint32_t count) override {
    const Id element = type_of(dtype);
    const Id array = w_.type(SpirvOp::type_array, {element, u32(count)});
    const Id pointer = w_.type(SpirvOp::type_pointer, {storage_workgroup, array});
    arrays_.push_back({w_.variable(pointer, storage_workgroup), element,
                       w_.type(SpirvOp::type_pointer, {storage_workgroup, element})});
    return static_cast<Local>(arrays_.size() - 1);
  }
  Quad local_load(Local array, Word at) override {
    const Array& of_array = arrays_[static_cast<std::size_t>(array)];
    const Id one = w_.value(SpirvOp::load, of_array.element, {element(of_array, at)});
    return of({one, one, one, one});
  }
  void local_store(Local array, Word at, Quad value) override {
    const Id place = element(arrays_[static_cast<std::size_t>(array)], at);
    w_.write(SpirvOp::store, {place, lanes_of(value)[0]});
  }
  void barrier() override {
    constexpr std::uint32_t workgroup = 2, acquire_release_of_local = 0x108;
    w_.write(SpirvOp::control_barrier,
             {u32(workgroup), u32(workgroup), u32(acquire_release_of_local)});
  }

  void program(std::uint32_t which, const ProgramData& program) override {
    if (programs_.size() <= which) programs_.resize(which + 1);
    Program& made = programs_[which];
    made = {&program, program.needed(), std::vector<Id>(program.nodes.size())};
    for (const std::uint32_t node : program.numbers) {
      const DType dtype = program.nodes[node].dtype;
      const Id low = next_word();
      const Id high = number_words(dtype) == 2 ? next_word() : 0;
      if (made.needed[node]) made.shared[node] = spirv_of_words(w_, class_of(dtype), low, high);
    }
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      const ProgramNode& node = program.nodes[i];
      if (node.kind != NodeKind::constant || !made.needed[i]) continue;
      made.shared[i] = spirv_constant(w_, class_of(node.dtype), class_bits(node.dtype, node.bits));
    }
  }
  std::vector<Quad> compute(std::uint32_t which, std::span<const Quad> inputs) override {
    const Program& program = programs_[which];
    const ProgramData& data = *program.data;
    std::array<std::vector<Id>, 4> values;
    for (std::size_t lane = 0; lane < values.size(); ++lane) {
      // The same again is not computed again.
      if (lane > 0 && repeated(inputs, lane)) {
        values[lane] = values[0];
        continue;
      }
      values[lane] = program.shared;
      std::size_t next = 0;
      for (const std::uint32_t node : data.inputs) {
        if (program.needed[node]) values[lane][node] = lanes_of(inputs[next++])[lane];
      }
      for (std::size_t i = 0; i < data.nodes.size(); ++i) {
        if (!program.needed[i] || data.nodes[i].operand_count() == 0) continue;
        values[lane][i] = spirv_op(w_, data, data.nodes[i], values[lane]);
      }
    }
    std::vector<Quad> all;
    for (const std::uint32_t output : data.outputs) {
      all.push_back(
          of({values[0][output], values[1][output], values[2][output], values[3][output]}));
    }
    return all;
  }

  Quad read_quad(std::size_t operand, Word place) override {
    const DType dtype = operands_[operand].dtype;
    const Id vector =
        w_.call(text("load_four_", to_string(dtype)), {buffer_of(operand), wide(id(place))});
    const Id element = w_.types_of(text("load_", to_string(dtype)))[0];
    std::array<Id, 4> all;
    for (std::uint32_t lane = 0; lane < 4; ++lane) {
      all[lane] = of_memory(dtype, w_.value(SpirvOp::composite_extract, element, {vector, lane}));
    }
    return of(all);
  }
  Quad read(std::size_t operand, Quad places) override {
    const DType dtype = operands_[operand].dtype;
    const std::array<Quad, 1> given{places};
    std::array<Id, 4> all;
    for (std::size_t lane = 0; lane < all.size(); ++lane) {
      all[lane] =
          repeated(given, lane)
              ? all[0]
              : of_memory(dtype, w_.call(text("load_", to_string(dtype)),
                                         {buffer_of(operand), wide(lanes_of(places)[lane])}));
    }
    return of(all);
  }
  void write_quad(std::size_t operand, Word place, Quad value, Quad ours) override {
    const Quad all_places = of([&] {
      std::array<Id, 4> all;
      for (std::uint32_t lane = 0; lane < 4; ++lane) {
        all[lane] = w_.value(SpirvOp::add, u32_, {id(place), u32(lane)});
      }
      return all;
    }());
    write(operand, all_places, value, ours);
  }
  void write(std::size_t operand, Quad places, Quad value, Quad ours) override {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      if_(lanes_of(ours)[lane],
          [&] { store(operand, lanes_of(places)[lane], lanes_of(value)[lane]); });
    }
  }
  void write_one(std::size_t operand, Word place, Quad value) override {
    store(operand, id(place), lanes_of(value)[0]);
  }

  KernelDescription finish() override {
    w_.write(SpirvOp::return_, {});
    w_.write(SpirvOp::function_end, {});
    KernelDescription kernel;
    kernel.name = name_;
    kernel.entry = entry;
    kernel.trusted = true;
    kernel.group_size = group_;
    kernel.code.text = w_.module(kernel_, entry, group_);
    return kernel;
  }

 private:
  struct Stored {
    Id type = 0;
    std::array<Id, 4> places{};
  };
  struct Array {
    Id variable, element, pointer;
  };
  struct Program {
    const ProgramData* data = nullptr;
    std::vector<bool> needed;
    std::vector<Id> shared;  // values of numbers and constants
  };

  void begin(std::uint32_t words, DType variables) {
    std::uint32_t bindings = 0;
    for (const Operand& operand : operands_) bindings = std::max(bindings, operand.binding + 1);
    std::vector<std::uint32_t> arguments(bindings, buffer_type_);
    if (in_buffer_) {
      arguments.push_back(buffer_type_);
    } else {
      const std::vector<std::uint32_t> members(words, u32_);
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
    for (const Operand& operand : operands_) {
      if (operand.writable) writable[operand.binding] = true;
    }
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const bool is_struct = i + 1 == arguments_.size() && !in_buffer_;
      if (writable[i]) continue;
      w_.decorate({arguments_[i], parameter_attribute, is_struct ? by_value : no_write});
    }
    label(w_.new_id());
    // Variables stand before all else.
    constexpr std::size_t enough = 4 * 8;
    reserve(u32_, enough);
    reserve(type_of(variables), enough);
  }
  void reserve(Id type, std::size_t count) {
    const Id pointer = w_.type(SpirvOp::type_pointer, {storage_function, type});
    for (std::size_t i = 0; i < count; ++i) {
      places_.push_back({type, w_.value(SpirvOp::variable, pointer, {storage_function})});
    }
  }
  Id take_place(Id type) {
    for (auto& [of_type, place] : places_) {
      if (of_type == type && place != 0) return std::exchange(place, 0);
    }
    throw KernelError("a kernel of a reduction has more variables than there is room for");
  }

  Id next_word() {
    const Id place = u32(word_++);
    const Id params = arguments_.back();
    if (in_buffer_) return w_.call("load_uint32", {params, wide(place)});
    const Id member = w_.value(SpirvOp::in_bounds_access_chain, member_type_, {params, place});
    constexpr std::uint32_t aligned = 2;
    return w_.value(SpirvOp::load, u32_, {member, aligned, sizeof(std::uint32_t)});
  }

  template <class Value>
  static Id id(Value value) {
    return static_cast<Id>(value);
  }
  Quad of(const std::array<Id, 4>& lanes) {
    quads_.push_back(lanes);
    return static_cast<Quad>(quads_.size() - 1);
  }
  std::array<Id, 4> lanes_of(Quad quad) const { return quads_[static_cast<std::size_t>(quad)]; }
  /// Whether a lane has what lane 0 has.
  bool repeated(std::span<const Quad> quads, std::size_t lane) const {
    if (lane == 0) return false;
    for (const Quad quad : quads) {
      if (lanes_of(quad)[lane] != lanes_of(quad)[0]) return false;
    }
    return true;
  }

  Id u32(std::uint32_t value) { return w_.constant(u32_, {value}); }
  Id wide(Id x) { return w_.value(SpirvOp::convert_u, u64_, {x}); }
  Id narrow(Id x) { return w_.value(SpirvOp::convert_u, u32_, {x}); }
  Id type_of(DType dtype) {
    switch (class_of(dtype)) {
      case ComputeClass::f32:
        return w_.type(SpirvOp::type_float, {32});
      case ComputeClass::f64:
        return w_.type(SpirvOp::type_float, {64});
      case ComputeClass::i64:
      case ComputeClass::u64:
        return u64_;
      default:
        return u32_;
    }
  }

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

  Id buffer_of(std::size_t operand) const { return arguments_[operands_[operand].binding]; }
  Id of_memory(DType dtype, Id element) {
    return dtype == DType::boolean ? w_.call("cast_u32_bool", {element}) : element;
  }
  void store(std::size_t operand, Id place, Id value) {
    const DType dtype = operands_[operand].dtype;
    const Id stored = dtype == DType::boolean ? w_.call("cast_bool_uint32", {value}) : value;
    w_.call(text("store_", to_string(dtype)), {buffer_of(operand), wide(place), stored});
  }
  Id element(const Array& array, Word at) {
    return w_.value(SpirvOp::in_bounds_access_chain, array.pointer, {array.variable, id(at)});
  }

  const std::string name_;
  const std::uint32_t group_;
  const bool in_buffer_;
  const std::vector<Operand> operands_;
  SpirvWriter w_{program_library()};
  const Id bool_ = w_.type(SpirvOp::type_bool, {});
  const Id u32_ = w_.type(SpirvOp::type_int, {32, 0});
  const Id u64_ = w_.type(SpirvOp::type_int, {64, 0});
  const Id buffer_type_ = w_.types_of("load_bool")[1];
  Id member_type_ = 0, kernel_ = 0, block_ = 0;
  std::vector<Id> arguments_;
  std::uint32_t word_ = 0;
  std::vector<std::pair<Id, Id>> places_;  // of variables, by type; 0 for those that are taken
  std::vector<Stored> variables_;
  std::vector<Array> arrays_;
  std::vector<Program> programs_;
  std::vector<std::array<Id, 4>> quads_;
};

}  // namespace

std::unique_ptr<KernelBuilder> spirv_builder(const KernelBuilder::Layout& layout) {
  return std::make_unique<SpirvBuilder>(layout);
}

}  // namespace tilewright::gpu
