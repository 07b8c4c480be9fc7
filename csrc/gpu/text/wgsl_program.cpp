#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.hpp"
#include "gpu/text/program_form.hpp"
#include "gpu/text/wgsl_functions.hpp"
#include "gpu/text/wgsl_values.hpp"
#include "tilewright/error.hpp"

// Kernels of programs in WGSL. Values are vectors of four; where a work-item makes one element, its
// four are the same and compilers keep one. Words that a work-item does not fill are read, merged
// and written by one work-item alone.
namespace tilewright::gpu {

namespace {

using namespace wgsl;

class Printer {
 public:
  Printer(const ProgramData& program, const ProgramForm& form)
      : program_(program), form_(form), needed_(program.needed()) {
    place_params();
  }

  KernelDescription print() {
    for (std::size_t o = 0; o < form_.operands.size(); ++o) {
      if (form_.operands[o].walk == Walk::none) continue;
      if (is_input(o)) {
        print_read(o);
      } else {
        print_write(o);
      }
    }
    print_compute();
    print_main();
    KernelDescription kernel;
    kernel.name = name();
    kernel.code.text = text(declarations(), functions_.text(), body_);
    kernel.code.files = {kernel.name};
    kernel.entry = "main";
    kernel.trusted = true;
    return kernel;
  }

 private:
  std::size_t inputs() const { return program_.inputs.size(); }
  bool is_input(std::size_t o) const { return o < inputs(); }
  DType dtype(std::size_t o) const { return operand_dtype(program_, o); }
  Walk walk(std::size_t o) const { return form_.operands[o].walk; }
  std::string buffer(std::size_t o) const {
    return text("buffer", unsigned{form_.operands[o].binding});
  }

  // Parameters ----------------------------------------------------------------------------------

  void place_params() {
    std::uint32_t next = form_.layout == Layout::split ? 2 : 1;
    shape_at_ = next;
    next += form_.rank;
    starts_.resize(form_.operands.size());
    for (std::size_t o = 0; o < form_.operands.size(); ++o) {
      starts_[o] = next;
      next += form_.has_start(form_.operands[o]) ? 1 : 0;
      next += form_.has_strides(form_.operands[o]) ? form_.rank : 0u;
    }
    for (const std::uint32_t number : program_.numbers) {
      numbers_.push_back(next);
      next += number_words(program_.nodes[number].dtype);
    }
    words_ = form_.counted ? 0 : next;
  }
  std::string word(std::uint32_t at) const {
    return form_.params_in_buffer ? text("words[", at, "]") : text("words.at", at);
  }
  std::string shape(std::size_t d) const { return word(shape_at_ + static_cast<std::uint32_t>(d)); }
  std::string start(std::size_t o) const {
    return form_.has_start(form_.operands[o]) ? word(starts_[o]) : "0u";
  }
  std::string stride(std::size_t o, std::size_t d) const {
    return word(starts_[o] + 1 + static_cast<std::uint32_t>(d));
  }

  // Declarations --------------------------------------------------------------------------------

  bool whole_quads(std::size_t o) const { return walk(o) == Walk::quads; }
  /// The operand that a binding is declared as: an output's, where it has one.
  std::size_t owner(std::size_t binding) const {
    for (std::size_t o = form_.operands.size(); o-- > 0;) {
      if (walk(o) != Walk::none && form_.operands[o].binding == binding) return o;
    }
    return 0;
  }
  std::string declarations() const {
    std::string all = "struct Params { zero: u32 }\nvar<private> params: Params;\n";
    const std::uint32_t bindings = form_.bindings();
    for (std::uint32_t b = 0; b < bindings; ++b) {
      const std::size_t o = owner(b);
      all += text("@group(0) @binding(", b, ") var<storage, ",
                  form_.operands[o].writable ? "read_write" : "read", "> buffer", b, ": array<",
                  operand(o).item_type(), ">;\n");
    }
    for (std::size_t o = 0; o < inputs(); ++o) {
      if (walk(o) != Walk::staged) continue;
      all += text("var<workgroup> staged", o, ": array<", class_name(dtype(o)), ", ",
                  tile_side * (tile_side + 1), ">;\n");
    }
    if (form_.params_in_buffer) {
      all += text("@group(0) @binding(", bindings, ") var<storage, read> words: array<u32>;\n");
    } else if (words_ > 0) {
      all += "struct Words {";
      for (std::uint32_t at = 0; at < words_; ++at) all += text(" at", at, ": u32,");
      all += " }\nvar<immediate> words: Words;\n";
    }
    return all;
  }
  std::string name() const {
    constexpr std::size_t most = 48;
    std::string all = "map";
    for (std::size_t i = 0; i < program_.nodes.size() && all.size() < most; ++i) {
      const ProgramNode& node = program_.nodes[i];
      if (!needed_[i]) continue;
      if (node.kind == NodeKind::op) all += text("_", info_of(node.op).name);
      if (node.kind == NodeKind::cast) all += text("_", to_string(node.dtype));
    }
    return all;
  }

  // Reading, writing and computing ---------------------------------------------------------------

  WgslOperand operand(std::size_t o) const {
    const DType stored = dtype(owner(form_.operands[o].binding));
    return {std::to_string(o),      buffer(o), dtype(o), stored, whole_quads(o),
            walk(o) == Walk::shared};
  }
  void print_read(std::size_t o) { body_ += wgsl_read(functions_, operand(o)); }
  void print_write(std::size_t o) {
    const bool all_lanes = form_.layout != Layout::single && form_.layout != Layout::tiles;
    const bool some = form_.layout != Layout::rows;
    body_ += wgsl_write(functions_, operand(o), all_lanes, some);
  }
  void print_compute() {
    const auto place = [&](std::uint32_t input) { return form_.operands[input].binding; };
    const auto word_of = [&](std::size_t number, std::uint32_t at) {
      return word(numbers_[number] + at);
    };
    body_ += wgsl_compute(functions_, program_, "compute", "Results", word_of, place);
  }

  // The walk ------------------------------------------------------------------------------------

  /// compute(...) of what read(operand) says for each input.
  template <class Read>
  std::string computed(const Read& read) const {
    std::string all = "compute(";
    for (std::size_t o = 0; o < inputs(); ++o) {
      if (walk(o) != Walk::none) all += text(read(o), ", ");
    }
    return all + ")";
  }
  template <class Body>
  void for_outputs(const Body& body) {
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      body(inputs() + i, text("results.result", i));
    }
  }
  void print_ones() {
    for (std::size_t o = 0; o < inputs(); ++o) {
      if (walk(o) == Walk::one) {
        body_ += text("  let one", o, " = read", o, "(vec4<u32>(", start(o), "));\n");
      }
    }
  }

  void print_main() {
    body_ += text("@compute @workgroup_size(", form_.group,
                  ")\nfn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) "
                  "groups: vec3<u32>,\n        @builtin(local_invocation_index) local: u32) {\n"
                  "  // The grid has one layer, which no compiler knows.\n"
                  "  params.zero = group.z;\n");
    print_count();
    print_ones();
    if (form_.layout == Layout::flat) {
      print_flat();
    } else if (form_.layout == Layout::tiles) {
      print_tiles();
    } else {
      body_ += text("  let item = (group.x + group.y * groups.x) * ", form_.group * form_.vectors,
                    "u + local;\n");
      if (form_.layout == Layout::rows) print_rows();
      if (form_.layout == Layout::split) print_split();
      if (form_.layout == Layout::single) print_single();
    }
    body_ += "}\n";
  }
  void print_count() {
    if (!form_.counted) {
      body_ += text("  let n = ", word(0), ";\n");
      return;
    }
    const std::size_t output = inputs();
    body_ += text("  let n = arrayLength(&", buffer(output), ") * 4u;\n");
  }

  void print_flat() {
    const std::uint32_t tile = form_.group * form_.vectors;
    body_ += text("  let first = (group.x + group.y * groups.x) * ", tile, "u;\n",
                  "  let whole = n / 4u;\n  if (first + ", tile, "u <= whole) {\n");
    const auto quad = [&](std::size_t o, const std::string& at) {
      return form_.starts ? text(start(o), " / 4u + ", at) : at;
    };
    for (std::uint32_t v = 0; v < form_.vectors; ++v) {
      for (std::size_t o = 0; o < inputs(); ++o) {
        if (walk(o) != Walk::quads) continue;
        body_ += text("    let x", o, "_", v, " = read", o, "(",
                      quad(o, text("first + ", v * form_.group, "u + local")), ");\n");
      }
    }
    for (std::uint32_t v = 0; v < form_.vectors; ++v) {
      body_ += text("    {\n      let results = ", computed([&](std::size_t o) {
                      return walk(o) == Walk::one ? text("one", o) : text("x", o, "_", v);
                    }),
                    ";\n");
      for_outputs([&](std::size_t o, const std::string& result) {
        body_ +=
            text("      write", o, "(", quad(o, text("first + ", v * form_.group, "u + local")),
                 ", ", result, ");\n");
      });
      body_ += "    }\n";
    }
    body_ += text("    return;\n  }\n  for (var i = first + local; i * 4u < n; i += ", form_.group,
                  "u) {\n    let results = ", computed([&](std::size_t o) {
                    return walk(o) == Walk::one ? text("one", o)
                                                : text("read", o, "(", quad(o, "i"), ")");
                  }),
                  ";\n    if (i < whole) {\n");
    for_outputs([&](std::size_t o, const std::string& result) {
      body_ += text("      write", o, "(", quad(o, "i"), ", ", result, ");\n");
    });
    body_ += "    } else {\n      let ours = vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(n % 4u);\n";
    for_outputs([&](std::size_t o, const std::string& result) {
      body_ += text("      write_some", o, "(", quad(o, "i"), ", ", result, ", ours);\n");
    });
    body_ += "    }\n  }\n";
  }

  /// Adds to `prefix`O what index `of` is at, for each operand with strides.
  void print_places(const std::string& of, const std::string& prefix, std::string_view indent) {
    for (std::size_t o = 0; o < form_.operands.size(); ++o) {
      if (form_.has_strides(form_.operands[o])) {
        body_ += text(indent, "var ", prefix, o, " = ", start(o), ";\n");
      }
    }
    body_ += text(indent, "var ", prefix, "rest = ", of, ";\n");
    for (std::size_t d = form_.rank; d-- > 0;) {
      body_ += text(indent, "{\n");
      if (d > 0) {
        body_ += text(indent, "  let index = ", prefix, "rest % ", shape(d), ";\n", indent, "  ",
                      prefix, "rest /= ", shape(d), ";\n");
      } else {
        body_ += text(indent, "  let index = ", prefix, "rest;\n");
      }
      for (std::size_t o = 0; o < form_.operands.size(); ++o) {
        if (form_.has_strides(form_.operands[o])) {
          body_ += text(indent, "  ", prefix, o, " += index * ", stride(o, d), ";\n");
        }
      }
      body_ += text(indent, "}\n");
    }
  }
  std::string steps(std::size_t o, const std::string& place) const {
    return text("(vec4<u32>(", place, o, ") + vec4<u32>(0u, 1u, 2u, 3u) * ",
                stride(o, form_.rank - 1u), ")");
  }
  /// Several items of a work-item, of `elements` each, that are all read before the first is used.
  template <class At>
  void print_items(std::uint32_t elements, const At& at) {
    const std::string size = elements == 1 ? "" : text(" * ", elements, "u");
    body_ += text("  if (item", size, " >= n) { return; }\n");
    const auto prefix = [](std::uint32_t v) { return text("place", v, "_"); };
    for (std::uint32_t v = 0; v < form_.vectors; ++v) {
      const std::string index =
          v == 0 ? text("item", size)
                 : text("min((item + ", v * form_.group, "u)", size, ", n - ", elements, "u)");
      print_places(index, prefix(v), "  ");
      for (std::size_t o = 0; o < inputs(); ++o) {
        if (walk(o) == Walk::none || walk(o) == Walk::one) continue;
        body_ += text("  let x", o, "_", v, " = read", o, "(", at(o, prefix(v)), ");\n");
      }
    }
    for (std::uint32_t v = 0; v < form_.vectors; ++v) {
      body_ += text("  if ((item + ", v * form_.group, "u)", size,
                    " < n) {\n    let results = ", computed([&](std::size_t o) {
                      return walk(o) == Walk::one ? text("one", o) : text("x", o, "_", v);
                    }),
                    ";\n");
      for_outputs([&](std::size_t o, const std::string& result) {
        body_ += text("    write", o, "(", at(o, prefix(v)), ", ", result,
                      walk(o) == Walk::quads ? "" : ", vec4<bool>(true)", ");\n");
      });
      body_ += "  }\n";
    }
  }
  void print_rows() {
    print_items(4, [&](std::size_t o, const std::string& place) {
      if (walk(o) == Walk::quads) return text(place, o, " / 4u");
      if (walk(o) == Walk::row) return text("vec4<u32>(", place, o, ")");
      return steps(o, place);
    });
  }

  void print_split() {
    const std::string shift = word(1);
    body_ += text("  if (item * 4u >= n + ", shift, ") { return; }\n",
                  "  // Those before the first one wrap to more than n.\n"
                  "  let index = vec4<u32>(item * 4u - ",
                  shift, ") + vec4<u32>(0u, 1u, 2u, 3u);\n  let ours = index < vec4<u32>(n);\n");
    const bool any_strides =
        std::any_of(form_.operands.begin(), form_.operands.end(),
                    [&](const OperandForm& operand) { return form_.has_strides(operand); });
    for (const char lane : std::string_view(any_strides ? "xyzw" : "")) {
      print_places(text("select(0u, index.", lane, ", ours.", lane, ")"), text("place_", lane, "_"),
                   "  ");
    }
    const auto at = [&](std::size_t o) {
      return text("vec4<u32>(place_x_", o, ", place_y_", o, ", place_z_", o, ", place_w_", o, ")");
    };
    const auto quad = [&](std::size_t o) {
      return text("(", start(o), " - ", shift, ") / 4u + item");
    };
    body_ += text("  let results = ", computed([&](std::size_t o) {
                    if (walk(o) == Walk::one) return text("one", o);
                    return text("read", o, "(", walk(o) == Walk::quads ? quad(o) : at(o), ")");
                  }),
                  ";\n");
    for_outputs([&](std::size_t o, const std::string& result) {
      if (walk(o) == Walk::quads) {
        body_ += text("  if (all(ours)) {\n    write", o, "(", quad(o), ", ", result,
                      ");\n  } else {\n    write_some", o, "(", quad(o), ", ", result,
                      ", ours);\n  }\n");
      } else {
        body_ += text("  write", o, "(", at(o), ", ", result, ", ours);\n");
      }
    });
  }

  void print_single() {
    print_items(1, [](std::size_t o, const std::string& place) {
      return text("vec4<u32>(", place, o, ")");
    });
  }

  void print_tiles() {
    constexpr std::uint32_t lines = tile_group / tile_side;
    const std::size_t across = form_.across, along = form_.rank - 1u;
    const auto tile = [](std::size_t d) { return text("tile", d); };
    body_ += "  var rest = group.x + group.y * groups.x;\n";
    std::vector<std::size_t> order{along, across};
    for (std::size_t d = form_.rank; d-- > 0;) {
      if (d != along && d != across) order.push_back(d);
    }
    for (const std::size_t d : order) {
      const bool is_cut = d == along || d == across;
      const std::string count =
          is_cut ? text("((", shape(d), " + ", tile_side - 1, "u) / ", tile_side, "u)") : shape(d);
      body_ += text("  let ", tile(d), " = rest % ", count,
                    is_cut ? text(" * ", tile_side, "u") : "", ";\n  rest /= ", count, ";\n");
    }
    body_ += text("  if (rest > 0u) { return; }\n  let side = local % ", tile_side,
                  "u;\n  let line = local / ", tile_side, "u;\n  let down = ", shape(across), " - ",
                  tile(across), ";\n  let right = ", shape(along), " - ", tile(along), ";\n");
    bool any_staged = false;
    for (std::size_t o = 0; o < form_.operands.size(); ++o) {
      if (!form_.has_strides(form_.operands[o])) continue;
      body_ += text("  let base", o, " = ", start(o));
      for (std::size_t d = 0; d < form_.rank; ++d)
        body_ += text(" + ", tile(d), " * ", stride(o, d));
      body_ += ";\n";
      if (walk(o) != Walk::staged) continue;
      any_staged = true;
      for (std::uint32_t first = 0; first < tile_side; first += lines) {
        const std::string column = text("(line + ", first, "u)");
        body_ +=
            text("  if (side < down && ", column, " < right) {\n    staged", o, "[", column, " * ",
                 tile_side + 1, "u + side] = read", o, "(vec4<u32>(base", o, " + side * ",
                 stride(o, across), " + ", column, " * ", stride(o, along), ")).x;\n  }\n");
      }
    }
    if (any_staged) body_ += "  workgroupBarrier();\n";
    const auto at = [&](std::size_t o, std::uint32_t first) {
      return text("vec4<u32>(base", o, " + min(line + ", first, "u, down - 1u) * ",
                  stride(o, across), " + min(side, right - 1u) * ", stride(o, along), ")");
    };
    for (std::uint32_t first = 0; first < tile_side; first += lines) {
      for (std::size_t o = 0; o < inputs(); ++o) {
        if (walk(o) != Walk::places) continue;
        body_ += text("  let x", o, "_", first, " = read", o, "(", at(o, first), ");\n");
      }
    }
    for (std::uint32_t first = 0; first < tile_side; first += lines) {
      body_ += text("  if (line + ", first,
                    "u < down && side < right) {\n    let results = ", computed([&](std::size_t o) {
                      if (walk(o) == Walk::one) return text("one", o);
                      if (walk(o) == Walk::places) return text("x", o, "_", first);
                      return text(vector_of(class_name(dtype(o))), "(staged", o, "[side * ",
                                  tile_side + 1, "u + line + ", first, "u])");
                    }),
                    ";\n");
      for_outputs([&](std::size_t o, const std::string& result) {
        body_ += text("    write", o, "(", at(o, first), ", ", result, ", vec4<bool>(true));\n");
      });
      body_ += "  }\n";
    }
  }

  const ProgramData& program_;
  const ProgramForm& form_;
  const std::vector<bool> needed_;
  WgslFunctions functions_;
  std::uint32_t shape_at_ = 0;
  std::vector<std::uint32_t> starts_, numbers_;  // their first words
  std::uint32_t words_ = 0;
  std::string body_;
};

}  // namespace

KernelDescription wgsl_program(const ProgramData& program, const ProgramForm& form) {
  return Printer(program, form).print();
}

}  // namespace tilewright::gpu
