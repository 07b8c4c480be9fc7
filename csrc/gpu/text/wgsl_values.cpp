#include "gpu/text/wgsl_values.hpp"

#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.hpp"
#include "gpu/text/program_form.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

std::string wgsl::vector_of(std::string_view scalar) { return text("vec4<", scalar, ">"); }

using namespace wgsl;

namespace {

std::string wrapped(WgslFunctions& functions, DType type, const std::string& value) {
  const ComputeClass kind = class_of(type);
  const bool whole = kind == ComputeClass::i32 || kind == ComputeClass::u32;
  if (!is_small(type) || !whole) return value;
  return functions.call(text("wrapped_", to_string(type)), value);
}

/// From the bits of four elements, or from the elements themselves where they have 64.
std::string decoded(WgslFunctions& functions, const WgslOperand& o, const std::string& bits) {
  const DType type = o.dtype;
  if (is_small(type)) return functions.call(text("decode_", to_string(type)), bits);
  if (is_wide(type) && class_of(o.stored) == class_of(type)) return bits;
  if (class_of(type) == ComputeClass::u32) return bits;
  return text("bitcast<", vector_of(class_name(type)), ">(", bits, ")");
}
std::string encoded(WgslFunctions& functions, DType type, const std::string& value) {
  if (is_small(type)) return functions.call(text("encode_", to_string(type)), value);
  if (is_wide(type) || class_of(type) == ComputeClass::u32) return value;
  return text("bitcast<vec4<u32>>(", value, ")");
}

class Values {
 public:
  Values(WgslFunctions& functions, const ProgramData& program,
         const std::function<std::string(std::size_t, std::uint32_t)>& word,
         const std::function<std::uint32_t(std::uint32_t)>& place)
      : functions_(functions), program_(program), word_(word), place_(place) {}

  std::string print(std::string_view name, std::string_view results) {
    const std::vector<bool> needed = program_.needed();
    std::string all = text("struct ", results, " {");
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      all += text(" result", i, ": ", vector_of(class_name(program_.output_dtype(i))), ",");
    }
    all += text(" }\nfn ", name, "(");
    // In the order of inputs, which that of nodes need not be.
    for (const std::uint32_t n : program_.inputs) {
      if (!needed[n]) continue;
      all += text("v", n, ": ", vector_of(class_name(program_.nodes[n].dtype)), ", ");
    }
    std::string values;
    for (std::size_t n = 0; n < program_.nodes.size(); ++n) {
      const ProgramNode& node = program_.nodes[n];
      if (!needed[n] || node.kind == NodeKind::input) continue;
      values += text("  let v", n, " = ",
                     node.kind == NodeKind::number     ? number(node)
                     : node.kind == NodeKind::constant ? constant(node)
                     : node.kind == NodeKind::cast     ? cast(node)
                                                       : op(node),
                     ";\n");
    }
    all += text(") -> ", results, " {\n", values, "  return ", results, "(");
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      all += text(i > 0 ? ", v" : "v", program_.outputs[i]);
    }
    return all + ");\n}\n";
  }

 private:
  std::string constant(const ProgramNode& node) {
    const std::uint64_t bits = class_bits(node.dtype, node.bits);
    if (node.dtype == DType::boolean) return text("vec4<bool>(", bits != 0 ? "true" : "false", ")");
    // Beside params.zero, so that no compiler computes with it in its own way.
    return value_of(node.dtype, text("(", static_cast<std::uint32_t>(bits), "u ^ params.zero)"),
                    text(bits >> 32, "u"));
  }
  std::string number(const ProgramNode& node) const {
    if (node.dtype == DType::boolean) return text("vec4<bool>(", word_(node.bits, 0), " != 0u)");
    return value_of(node.dtype, word_(node.bits, 0),
                    number_words(node.dtype) == 2 ? word_(node.bits, 1) : "");
  }
  /// Of the words of its bits.
  static std::string value_of(DType type, const std::string& low, const std::string& high) {
    const std::string_view kind = class_name(type);
    const std::string bits =
        number_words(type) == 1 ? low : text("u64(", low, ") | (u64(", high, ") << 32u)");
    return text("vec4<", kind, ">(bitcast<", kind, ">(", bits, "))");
  }
  /// Whether two values may be what one place in memory holds, so that compilers take one for the
  /// other.
  bool same_place(std::uint32_t a, std::uint32_t b) const {
    if (a == b) return true;
    const ProgramNode& first = program_.nodes[a];
    const ProgramNode& second = program_.nodes[b];
    return first.kind == NodeKind::input && second.kind == NodeKind::input &&
           place_(static_cast<std::uint32_t>(first.bits)) ==
               place_(static_cast<std::uint32_t>(second.bits));
  }
  std::string op(const ProgramNode& node) {
    const ElementOpInfo& info = info_of(node.op);
    const DType type = program_.nodes[node.operands[info.rule == OpRule::select ? 1 : 0]].dtype;
    std::array<std::string, 3> operands;
    for (std::size_t i = 0; i < info.operands; ++i) operands[i] = text("v", node.operands[i]);
    const bool same = info.operands == 2 && same_place(node.operands[0], node.operands[1]);
    return wgsl_op(functions_, node.op, type, node.dtype, operands, same);
  }
  std::string cast(const ProgramNode& node) {
    const DType from = program_.nodes[node.operands[0]].dtype;
    const std::string value = text("v", node.operands[0]);
    const std::string_view of = class_name(from), to = class_name(node.dtype);
    const auto rounded = [&](const std::string& what) {
      return node.dtype == DType::float16 || node.dtype == DType::bfloat16
                 ? functions_.call(text("rounded_", to_string(node.dtype)), what)
                 : what;
    };
    if (node.dtype == DType::boolean) return functions_.call(text("not_zero_", of), value);
    if (is_real(from) && !is_real(node.dtype)) {
      return functions_.call(text(to_string(node.dtype), "_of_", of), value);
    }
    // Through float32, and yet rounded once.
    const bool halves = node.dtype == DType::float16 || node.dtype == DType::bfloat16;
    if (halves && class_of(from) == ComputeClass::f64) {
      return rounded(functions_.call("f32_for_rounding_of_f64", value));
    }
    if (halves && !is_real(from) && from != DType::boolean) {
      return rounded(functions_.call(text("f32_for_rounding_of_", of), value));
    }
    const std::string converted = of == to ? value : functions_.call(text(to, "_of_", of), value);
    if (is_real(node.dtype)) {
      const bool holds_all = from == node.dtype || (from == DType::boolean);
      return holds_all ? converted : rounded(converted);
    }
    return wrapped(functions_, node.dtype, converted);
  }

  WgslFunctions& functions_;
  const ProgramData& program_;
  const std::function<std::string(std::size_t, std::uint32_t)>& word_;
  const std::function<std::uint32_t(std::uint32_t)>& place_;
};

}  // namespace

std::string wgsl_op(WgslFunctions& functions, ElementOp op, DType dtype, DType result,
                    const std::array<std::string, 3>& given, bool same) {
  const ElementOpInfo& info = info_of(op);
  const DType type = dtype;
  std::array<std::string, 3> operands = given;
  const std::string_view kind = class_name(type);
  const auto function = [&](std::string_view called) {
    const std::string full = text(called, "_", kind);
    if (!functions.has(full)) {
      throw Unsupported(text("map: no kernel in WGSL, as this device takes them, computes ",
                             info.name, " of ", to_string(type),
                             "; cast to float32, or run it on the cpu backend"));
    }
    return functions.name(full);
  };
  if (info.rule == OpRule::compare || info.rule == OpRule::order) {
    // NaN is no business of a compiler's.
    if (is_real(type)) {
      return text(function(info.name), "(", operands[0], ", ", operands[1], ")");
    }
  }
  const bool by_operator = info.spelling.find('(') == std::string_view::npos;
  if (is_real(type) && info.operands == 2 && same) {
    operands[1] = text(function("kept"), "(", operands[1], ")");
  }
  std::string all;
  for (std::size_t at = 0; at < info.spelling.size();) {
    std::size_t end = at;
    const auto in_word = [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    while (end < info.spelling.size() && in_word(info.spelling[end])) ++end;
    if (end == at) {
      all += info.spelling[at++];
      continue;
    }
    const std::string_view part = info.spelling.substr(at, end - at);
    if (end < info.spelling.size() && info.spelling[end] == '(') {
      all += function(part);
    } else if (part.size() == 1 && part[0] >= 'a' && part[0] <= 'c') {
      all += operands[static_cast<std::size_t>(part[0] - 'a')];
    } else {
      all += part;
    }
    at = end;
  }
  // One op, one rounding: compilers neither join it with the next nor take it back.
  if (by_operator && is_real(type)) return text(function("kept"), "(", all, ")");
  return wrapped(functions, result, all);
}

std::string WgslOperand::item_type() const {
  if (atomic) return "atomic<u32>";
  if (is_small(dtype)) return quads && size_of(dtype) == 2 ? "vec2<u32>" : "u32";
  const std::string scalar(is_wide(dtype) ? class_name(dtype) : "u32");
  return quads ? vector_of(scalar) : scalar;
}

std::string wgsl_read(WgslFunctions& functions, const WgslOperand& o) {
  std::string all;
  const std::string b = o.buffer;
  const std::string value = vector_of(class_name(o.dtype));
  const std::size_t size = size_of(o.dtype);
  if (o.quads) {
    all += text("fn read", o.name, "(quad: u32) -> ", value, " {\n");
    if (size == 1) {
      all += text("  let bits = (vec4<u32>(", b, "[quad]) >> vec4<u32>(0u, 8u, 16u, 24u)) & ",
                  "vec4<u32>(0xffu);\n");
    } else if (size == 2) {
      all += text("  let pairs = ", b, "[quad];\n",
                  "  let bits = (pairs.xxyy >> vec4<u32>(0u, 16u, 0u, 16u)) & ",
                  "vec4<u32>(0xffffu);\n");
    } else {
      all += text("  let bits = ", b, "[quad];\n");
    }
    all += text("  return ", decoded(functions, o, "bits"), ";\n}\n");
    return all;
  }
  const std::string bits(is_wide(o.dtype) ? class_name(o.stored) : "u32");
  all += text("fn bits", o.name, "(at: u32) -> ", bits, " {\n");
  if (size < 4) {
    const std::size_t of_word = 4 / size;
    const std::string item = text(b, "[at / ", of_word, "u]");
    all += text("  return (", o.atomic ? text("atomicLoad(&", item, ")") : item, " >> (at % ",
                of_word, "u * ", 8 * size, "u)) & ", size == 1 ? 0xff : 0xffff, "u;\n}\n");
  } else {
    all += text("  return ", b, "[at];\n}\n");
  }
  all += text("fn read", o.name, "(at: vec4<u32>) -> ", value, " {\n  return ",
              decoded(functions, o,
                      text(vector_of(bits), "(bits", o.name, "(at.x), bits", o.name, "(at.y), bits",
                           o.name, "(at.z), bits", o.name, "(at.w))")),
              ";\n}\n");
  return all;
}

std::string wgsl_write(WgslFunctions& functions, const WgslOperand& o, bool all_lanes, bool some) {
  std::string all;
  const std::string b = o.buffer;
  const std::string value = vector_of(class_name(o.dtype));
  const std::size_t size = size_of(o.dtype);
  const std::string take = text("  let bits = ", encoded(functions, o.dtype, "value"), ";\n");
  if (!o.quads) {
    all +=
        text("fn write", o.name, "(at: vec4<u32>, value: ", value, ", ours: vec4<bool>) {\n", take);
    const std::size_t of_word = size < 4 ? 4 / size : 1;
    for (const char lane : std::string_view(all_lanes ? "xyzw" : "x")) {
      const std::string at = text("at.", lane);
      all += text("  if (ours.", lane, ") {\n");
      if (size < 4) {
        all += text("    let shift = ", at, " % ", of_word, "u * ", 8 * size, "u;\n",
                    "    atomicAnd(&", b, "[", at, " / ", of_word, "u], ~(",
                    size == 1 ? 0xff : 0xffff, "u << shift));\n", "    atomicOr(&", b, "[", at,
                    " / ", of_word, "u], bits.", lane, " << shift);\n");
      } else {
        all += text("    ", b, "[", at, "] = bits.", lane, ";\n");
      }
      all += "  }\n";
    }
    all += "}\n";
    return all;
  }
  const auto packed = [&](std::string_view bits) {
    if (size == 1) {
      return text(bits, ".x | (", bits, ".y << 8u) | (", bits, ".z << 16u) | (", bits,
                  ".w << 24u)");
    }
    if (size == 2) return text(bits, ".xz | (", bits, ".yw << vec2<u32>(16u))");
    return std::string(bits);
  };
  all += text("fn write", o.name, "(quad: u32, value: ", value, ") {\n", take, "  ", b,
              "[quad] = ", packed("bits"), ";\n}\n");
  if (!some) return all;
  all +=
      text("fn write_some", o.name, "(quad: u32, value: ", value, ", ours: vec4<bool>) {\n", take);
  if (size < 4) {
    all += text("  let fields = select(vec4<u32>(0u), vec4<u32>(", size == 1 ? 0xff : 0xffff,
                "u), ours);\n  let mask = ", packed("fields"), ";\n  let words = ", packed("bits"),
                ";\n");
  }
  if (size == 1) {
    all +=
        text("  if (mask != 0u) { ", b, "[quad] = (", b, "[quad] & ~mask) | (words & mask); }\n");
  } else if (size == 2) {
    for (const char lane : std::string_view("xy")) {
      all += text("  if (mask.", lane, " != 0u) { ", b, "[quad].", lane, " = (", b, "[quad].", lane,
                  " & ~mask.", lane, ") | (words.", lane, " & mask.", lane, "); }\n");
    }
  } else {
    for (const char lane : std::string_view("xyzw")) {
      all += text("  if (ours.", lane, ") { ", b, "[quad].", lane, " = bits.", lane, "; }\n");
    }
  }
  all += "}\n";
  return all;
}

std::string wgsl_compute(WgslFunctions& functions, const ProgramData& program,
                         std::string_view name, std::string_view results,
                         const std::function<std::string(std::size_t, std::uint32_t)>& word,
                         const std::function<std::uint32_t(std::uint32_t)>& place) {
  return Values(functions, program, word, place).print(name, results);
}

}  // namespace tilewright::gpu
