#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.hpp"
#include "gpu/text/program_form.hpp"
#include "gpu/text/wgsl_functions.hpp"
#include "gpu/text/wgsl_values.hpp"

// Kernels in WGSL of a program over several groups of operands. WGSL has no pointer that says at
// run time which buffer it is of, so a switch has the reads and writes of each group; a workgroup
// is of one group, so all its work-items go the same way.
namespace tilewright::gpu {

namespace {

using namespace wgsl;

class Printer {
 public:
  Printer(const ProgramData& program, const ProgramForm& form)
      : program_(program),
        form_(form),
        operands_(form.operands.size() / form.groups),
        numbers_at_(params_words(program, form) - number_words(program)) {}

  KernelDescription print() {
    print_functions();
    print_compute();
    print_main();
    KernelDescription kernel;
    kernel.name = "map_many";
    kernel.code.text = text(declarations(), functions_.text(), body_);
    kernel.code.files = {kernel.name};
    kernel.entry = "main";
    kernel.trusted = true;
    return kernel;
  }

 private:
  std::size_t inputs() const { return program_.inputs.size(); }
  const OperandForm& form(std::size_t group, std::size_t o) const {
    return form_.operands[group * operands_ + o];
  }
  bool is_used(std::size_t o) const { return form(0, o).walk != Walk::none; }
  DType dtype(std::size_t o) const { return operand_dtype(program_, o); }

  // Parameters ----------------------------------------------------------------------------------

  std::string word(std::uint32_t at) const {
    return form_.params_in_buffer ? text("words[", at, "]") : text("words.at", at);
  }
  std::uint32_t words_of_group() const { return (numbers_at_) / form_.groups; }
  std::string first_of(std::uint32_t group) const { return word(group * words_of_group()); }
  std::string count_of(std::uint32_t group) const { return word(group * words_of_group() + 1); }
  /// Where an operand of a group has a quad.
  std::string quad(std::uint32_t group, std::size_t o, const std::string& at) const {
    if (!form_.starts) return at;
    std::uint32_t place = group * words_of_group() + 2;
    for (std::size_t i = 0; i < o; ++i) place += is_used(i) ? 1 : 0;
    return text(word(place), " / 4u + ", at);
  }

  // Declarations --------------------------------------------------------------------------------

  /// The dtype that a binding is declared for: any of those in it, which are of one size and class.
  DType stored(std::size_t binding) const {
    for (std::size_t i = form_.operands.size(); i-- > 0;) {
      const OperandForm& operand = form_.operands[i];
      if (operand.walk != Walk::none && operand.binding == binding) return dtype(i % operands_);
    }
    return DType::float32;
  }
  bool is_writable(std::size_t binding) const {
    return std::any_of(form_.operands.begin(), form_.operands.end(), [&](const OperandForm& one) {
      return one.walk != Walk::none && one.binding == binding && one.writable;
    });
  }
  static std::string buffer(std::size_t binding) { return text("buffer", binding); }
  /// Functions are of a binding and a dtype, whichever operands of whichever groups lie there.
  WgslOperand operand(std::size_t group, std::size_t o) const {
    const std::size_t binding = form(group, o).binding;
    return {text("_", binding, "_", to_string(dtype(o))),
            buffer(binding),
            dtype(o),
            stored(binding),
            true,
            false};
  }
  std::string declarations() const {
    std::string all = "struct Params { zero: u32 }\nvar<private> params: Params;\n";
    const std::uint32_t bindings = form_.bindings();
    for (std::uint32_t b = 0; b < bindings; ++b) {
      const WgslOperand declared{"", buffer(b), stored(b), stored(b), true, false};
      all +=
          text("@group(0) @binding(", b, ") var<storage, ", is_writable(b) ? "read_write" : "read",
               "> ", buffer(b), ": array<", declared.item_type(), ">;\n");
    }
    if (form_.params_in_buffer) {
      return all +
             text("@group(0) @binding(", bindings, ") var<storage, read> words: ", "array<u32>;\n");
    }
    all += "struct Words {";
    const std::uint32_t words = params_words(program_, form_);
    for (std::uint32_t at = 0; at < words; ++at) all += text(" at", at, ": u32,");
    return all + " }\nvar<immediate> words: Words;\n";
  }

  void print_functions() {
    std::set<std::string> printed;
    for (std::uint32_t g = 0; g < form_.groups; ++g) {
      for (std::size_t o = 0; o < operands_; ++o) {
        if (!is_used(o)) continue;
        const WgslOperand one = operand(g, o);
        const bool is_input = o < inputs();
        if (!printed.insert(text(is_input ? "read" : "write", one.name)).second) continue;
        body_ += is_input ? wgsl_read(functions_, one) : wgsl_write(functions_, one, true, true);
      }
    }
  }
  void print_compute() {
    const auto word_of = [&](std::size_t number, std::uint32_t at) {
      std::uint32_t place = numbers_at_ + at;
      for (std::size_t i = 0; i < number; ++i) {
        place += number_words(program_.nodes[program_.numbers[i]].dtype);
      }
      return word(place);
    };
    // Inputs that are one place in a group may be taken for each other.
    const auto place = [&](std::uint32_t input) {
      for (std::uint32_t other = 0; other < input; ++other) {
        for (std::uint32_t g = 0; g < form_.groups; ++g) {
          if (form(g, other).binding == form(g, input).binding) return other;
        }
      }
      return input;
    };
    body_ += wgsl_compute(functions_, program_, "compute", "Results", word_of, place);
  }

  // The walk ------------------------------------------------------------------------------------

  /// A switch over the groups.
  template <class Body>
  void for_groups(std::string_view indent, const Body& body) {
    body_ += text(indent, "switch slot {\n");
    for (std::uint32_t g = 0; g < form_.groups; ++g) {
      body_ += text(indent, g + 1 < form_.groups ? text("  case ", g, "u: {") : "  default: {");
      body(g);
      body_ += " }\n";
    }
    body_ += text(indent, "}\n");
  }
  static std::string value(std::size_t o, std::uint32_t vector) {
    return text("x", o, "_", vector);
  }
  void print_reads(std::string_view indent, std::uint32_t vectors, const auto& at) {
    for (std::size_t o = 0; o < inputs(); ++o) {
      if (!is_used(o)) continue;
      for (std::uint32_t v = 0; v < vectors; ++v) {
        body_ += text(indent, "var ", value(o, v), ": ", vector_of(class_name(dtype(o))), ";\n");
      }
    }
    for_groups(indent, [&](std::uint32_t g) {
      for (std::size_t o = 0; o < inputs(); ++o) {
        if (!is_used(o)) continue;
        for (std::uint32_t v = 0; v < vectors; ++v) {
          body_ +=
              text(" ", value(o, v), " = read", operand(g, o).name, "(", quad(g, o, at(v)), ");");
        }
      }
    });
  }
  std::string computed(std::uint32_t vector) const {
    std::string all = "compute(";
    for (std::size_t o = 0; o < inputs(); ++o) {
      if (is_used(o)) all += value(o, vector) + ", ";
    }
    return all + ")";
  }
  /// `some`: of the last elements, those that are `ours`.
  void print_writes(std::string_view indent, const std::string& at, const std::string& results,
                    bool some) {
    for_groups(indent, [&](std::uint32_t g) {
      for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
        const std::size_t o = inputs() + i;
        body_ += text(some ? " write_some" : " write", operand(g, o).name, "(", quad(g, o, at),
                      ", ", results, ".result", i, some ? ", ours);" : ");");
      }
    });
  }

  void print_main() {
    const std::uint32_t tile = form_.group * form_.vectors;
    body_ += text("@compute @workgroup_size(", form_.group,
                  ")\nfn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) "
                  "groups: vec3<u32>,\n        @builtin(local_invocation_index) local: u32) {\n"
                  "  // The grid has one layer, which no compiler knows.\n"
                  "  params.zero = group.z;\n"
                  "  let number = group.x + group.y * groups.x;\n  var slot = 0u;\n");
    for (std::uint32_t g = 1; g < form_.groups; ++g) {
      body_ += text("  slot += select(0u, 1u, number >= ", first_of(g), ");\n");
    }
    body_ += "  var begin: u32;\n  var n: u32;\n";
    for_groups("  ", [&](std::uint32_t g) {
      body_ += text(" begin = ", first_of(g), "; n = ", count_of(g), ";");
    });
    body_ += text("  let first = (number - begin) * ", tile,
                  "u;\n  let whole = n / 4u;\n  if (first + ", tile, "u <= whole) {\n");
    const auto at = [&](std::uint32_t v) { return text("first + ", v * form_.group, "u + local"); };
    print_reads("    ", form_.vectors, at);
    for (std::uint32_t v = 0; v < form_.vectors; ++v) {
      body_ += text("    let results", v, " = ", computed(v), ";\n");
      print_writes("    ", at(v), text("results", v), false);
    }
    body_ += text("    return;\n  }\n  for (var i = first + local; i * 4u < n; i += ", form_.group,
                  "u) {\n");
    print_reads("    ", 1, [](std::uint32_t) { return std::string("i"); });
    body_ += text("    let results = ", computed(0), ";\n    if (i < whole) {\n");
    print_writes("      ", "i", "results", false);
    body_ += "    } else {\n      let ours = vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(n % 4u);\n";
    print_writes("      ", "i", "results", true);
    body_ += "    }\n  }\n}\n";
  }

  const ProgramData& program_;
  const ProgramForm& form_;
  const std::size_t operands_;  // of a group
  const std::uint32_t numbers_at_;
  WgslFunctions functions_;
  std::string body_;
};

}  // namespace

KernelDescription wgsl_groups(const ProgramData& program, const ProgramForm& form) {
  return Printer(program, form).print();
}

}  // namespace tilewright::gpu
