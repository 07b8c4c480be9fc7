#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "gpu/text/kernel_builder.hpp"
#include "gpu/text/program_form.hpp"
#include "gpu/text/wgsl_functions.hpp"
#include "gpu/text/wgsl_values.hpp"

namespace tilewright::gpu {

using namespace wgsl;

namespace {

/// Values are `let t1 = ...;`, by their numbers.
class WgslBuilder final : public KernelBuilder {
 public:
  explicit WgslBuilder(const Layout& layout)
      : name_(layout.name),
        group_(layout.group),
        words_(layout.words),
        in_buffer_(layout.params_in_buffer),
        operands_(layout.operands.begin(), layout.operands.end()) {}

  Word word(std::uint32_t value) override { return made<Word>(text(value, "u")); }
  Word parameter() override { return made<Word>(word_at(next_word_++)); }
  Word group() override { return made<Word>("group.x + group.y * groups.x"); }
  Word local() override { return made<Word>("local"); }
  Word arithmetic(Arithmetic op, Word a, Word b) override {
    constexpr std::array<std::string_view, 5> signs{"+", "-", "*", "/", "%"};
    return made<Word>(text(named(a), " ", signs[static_cast<std::size_t>(op)], " ", named(b)));
  }
  Flag less(Word a, Word b) override { return made<Flag>(text(named(a), " < ", named(b))); }
  Flag both(Flag a, Flag b) override { return made<Flag>(text(named(a), " && ", named(b))); }
  Word select(Flag flag, Word a, Word b) override {
    return made<Word>(text("select(", named(b), ", ", named(a), ", ", named(flag), ")"));
  }
  void when(Flag flag, const std::function<void()>& body) override {
    body_ += text("if (", named(flag), ") {\n");
    body();
    body_ += "}\n";
  }
  void loop(Word first, Word end, Word step, const std::function<void(Word)>& body) override {
    const auto i = static_cast<Word>(next_++);
    body_ += text("for (var ", named(i), " = ", named(first), "; ", named(i), " < ", named(end),
                  "; ", named(i), " += ", named(step), ") {\n");
    body(i);
    body_ += "}\n";
  }

  Quad quad(Word word) override { return made<Quad>(text("vec4<u32>(", named(word), ")")); }
  Quad constant(DType dtype, std::uint64_t bits) override {
    if (dtype == DType::boolean) {
      return made<Quad>(text("vec4<bool>(", bits != 0 ? "true" : "false", ")"));
    }
    const std::string_view kind = class_name(dtype);
    const std::string low = text("(", static_cast<std::uint32_t>(bits), "u ^ params.zero)");
    const std::string all =
        number_words(dtype) == 1 ? low : text("u64(", low, ") | (u64(", bits >> 32, "u) << 32u)");
    return made<Quad>(text("vec4<", kind, ">(bitcast<", kind, ">(", all, "))"));
  }
  Quad lanes() override { return made<Quad>("vec4<u32>(0u, 1u, 2u, 3u)"); }
  Quad apply(ElementOp op, DType dtype, DType result, std::span<const Quad> given) override {
    std::array<std::string, 3> operands;
    for (std::size_t i = 0; i < given.size(); ++i) operands[i] = named(given[i]);
    return made<Quad>(wgsl_op(functions_, op, dtype, result, operands, false));
  }
  Quad joined(ElementOp op, DType dtype, Quad a, Quad b) override {
    const std::string_view sign = op == ElementOp::add_   ? " + "
                                  : op == ElementOp::sub_ ? " - "
                                  : op == ElementOp::mul_ ? " * "
                                  : op == ElementOp::div_ ? " / "
                                                          : "";
    if (class_of(dtype) == ComputeClass::f32 && !sign.empty()) {
      return made<Quad>(text(named(a), sign, named(b)));
    }
    return KernelBuilder::joined(op, dtype, a, b);
  }
  bool has_keys(DType dtype) const override { return class_of(dtype) == ComputeClass::f32; }
  Quad key_of(Quad value, bool least) override {
    return made<Quad>(functions_.call(least ? "key_of_least" : "key_of_largest", named(value)));
  }
  Quad of_key(Quad key, bool least) override {
    return made<Quad>(functions_.call(least ? "least_of_key" : "largest_of_key", named(key)));
  }
  Quad rotated(Quad quad, std::uint32_t by) override {
    constexpr std::array<std::string_view, 4> orders{"xyzw", "yzwx", "zwxy", "wxyz"};
    return made<Quad>(text(named(quad), ".", orders[by]));
  }
  Quad shifted(Quad quad, std::uint32_t by, Quad fill) override {
    const std::string q = named(quad), f = named(fill);
    const std::string lanes = by == 1   ? text(f, ".x, ", q, ".x, ", q, ".y, ", q, ".z")
                              : by == 2 ? text(f, ".x, ", f, ".x, ", q, ".x, ", q, ".y")
                                        : text(f, ".x, ", f, ".x, ", f, ".x, ", q, ".x");
    return made<Quad>(text("vec4(", lanes, ")"));
  }
  Quad spread(Quad quad, std::uint32_t lane) override {
    return made<Quad>(text("vec4(", named(quad), ".", "xyzw"[lane], ")"));
  }

  Variable variable(DType dtype, Quad start) override {
    const auto variable = static_cast<Variable>(next_++);
    body_ += text("var ", named(variable), ": ", vector_of(class_name(dtype)), " = ", named(start),
                  ";\n");
    return variable;
  }
  Quad get(Variable variable) override { return made<Quad>(named(variable)); }
  void set(Variable variable, Quad value) override {
    body_ += text(named(variable), " = ", named(value), ";\n");
  }

  Local local_array(DType dtype, std::uint32_t count) override {
    const auto array = static_cast<Local>(next_++);
    declared_ +=
        text("var<workgroup> ", named(array), ": array<", class_name(dtype), ", ", count, ">;\n");
    return array;
  }
  Quad local_load(Local array, Word at) override {
    return made<Quad>(text("vec4(", named(array), "[", named(at), "])"));
  }
  void local_store(Local array, Word at, Quad value) override {
    body_ += text(named(array), "[", named(at), "] = ", named(value), ".x;\n");
  }
  void barrier() override { body_ += "workgroupBarrier();\n"; }

  void program(std::uint32_t which, const ProgramData& program) override {
    std::vector<std::uint32_t> numbers;
    for (const std::uint32_t number : program.numbers) {
      numbers.push_back(next_word_);
      next_word_ += number_words(program.nodes[number].dtype);
    }
    const auto word_of = [&](std::size_t number, std::uint32_t at) {
      return word_at(numbers[number] + at);
    };
    const auto place = [](std::uint32_t input) { return input; };
    computes_ += wgsl_compute(functions_, program, text("compute", which), text("Results", which),
                              word_of, place);
    if (programs_.size() <= which) programs_.resize(which + 1);
    programs_[which] = &program;
  }
  std::vector<Quad> compute(std::uint32_t which, std::span<const Quad> inputs) override {
    std::string given;
    for (const Quad input : inputs) given += text(named(input), ", ");
    const auto results = made<Quad>(text("compute", which, "(", given, ")"));
    std::vector<Quad> all;
    for (std::size_t i = 0; i < programs_[which]->outputs.size(); ++i) {
      all.push_back(made<Quad>(text(named(results), ".result", i)));
    }
    return all;
  }

  Quad read_quad(std::size_t operand, Word place) override {
    return made<Quad>(text("read", operand, "(", named(place), " / 4u)"));
  }
  Quad read(std::size_t operand, Quad places) override {
    return made<Quad>(text("read", operand, "(", named(places), ")"));
  }
  void write_quad(std::size_t operand, Word place, Quad value, Quad ours) override {
    const std::string at = text("(", named(place), " / 4u, ", named(value));
    body_ += text("if (all(", named(ours), ")) { write", operand, at, "); } else { write_some",
                  operand, at, ", ", named(ours), "); }\n");
  }
  void write(std::size_t operand, Quad places, Quad value, Quad ours) override {
    body_ +=
        text("write", operand, "(", named(places), ", ", named(value), ", ", named(ours), ");\n");
  }
  void write_one(std::size_t operand, Word place, Quad value) override {
    body_ += text("write", operand, "(vec4<u32>(", named(place), "), ", named(value),
                  ", vec4<bool>(true, false, false, false));\n");
  }

  KernelDescription finish() override {
    std::string memory;
    std::string all = "struct Params { zero: u32 }\nvar<private> params: Params;\n";
    std::uint32_t bindings = 0;
    for (std::size_t o = 0; o < operands_.size(); ++o) {
      const Operand& operand = operands_[o];
      const bool atomic = operand.written && !operand.quads && is_small(operand.dtype);
      const WgslOperand printed{std::to_string(o), text("buffer", operand.binding),
                                operand.dtype,     operand.dtype,
                                operand.quads,     atomic};
      all += text("@group(0) @binding(", operand.binding, ") var<storage, ",
                  operand.writable ? "read_write" : "read", "> buffer", operand.binding, ": array<",
                  printed.item_type(), ">;\n");
      memory += operand.written ? wgsl_write(functions_, printed, true, true)
                                : wgsl_read(functions_, printed);
      bindings = std::max(bindings, operand.binding + 1);
    }
    if (in_buffer_) {
      all += text("@group(0) @binding(", bindings, ") var<storage, read> words: array<u32>;\n");
    } else {
      all += "struct Words {";
      for (std::uint32_t at = 0; at < words_; ++at) all += text(" at", at, ": u32,");
      all += " }\nvar<immediate> words: Words;\n";
    }
    KernelDescription kernel;
    kernel.name = name_;
    kernel.code.text = text(
        all, declared_, functions_.text(), memory, computes_, "@compute @workgroup_size(", group_,
        ")\nfn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: "
        "vec3<u32>,\n        @builtin(local_invocation_index) local: u32) {\n  // The grid has one "
        "layer, which no compiler knows.\n  params.zero = group.z;\n",
        body_, "}\n");
    kernel.code.files = {kernel.name};
    kernel.entry = "main";
    kernel.trusted = true;
    return kernel;
  }

 private:
  template <class Value>
  static std::string named(Value value) {
    return text("t", static_cast<std::uint32_t>(value));
  }
  template <class Value>
  Value made(const std::string& what) {
    const auto value = static_cast<Value>(next_++);
    body_ += text("let ", named(value), " = ", what, ";\n");
    return value;
  }
  std::string word_at(std::uint32_t at) const {
    return in_buffer_ ? text("words[", at, "]") : text("words.at", at);
  }

  const std::string name_;
  const std::uint32_t group_, words_;
  const bool in_buffer_;
  const std::vector<Operand> operands_;
  WgslFunctions functions_;
  std::vector<const ProgramData*> programs_;
  std::uint32_t next_ = 0, next_word_ = 0;
  std::string declared_, computes_, body_;
};

}  // namespace

std::unique_ptr<KernelBuilder> wgsl_builder(const KernelBuilder::Layout& layout) {
  return std::make_unique<WgslBuilder>(layout);
}

}  // namespace tilewright::gpu
