#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/program/program_data.hpp"
#include "gpu/spirv_kernels.hpp"
#include "gpu/text/program_form.hpp"
#include "gpu/text/spirv_writer.hpp"
#include "level_zero/spirv_interface.hpp"
#include "tilewright/error.hpp"
#include "tilewright/program.hpp"

namespace tilewright::gpu {
namespace {

constexpr DType of_each_class[] = {DType::boolean,  DType::int8,    DType::int32,  DType::uint16,
                                   DType::uint32,   DType::int64,   DType::uint64, DType::float16,
                                   DType::bfloat16, DType::float32, DType::float64};

/// A program of one op of inputs of this dtype; nothing where the op does not take it.
std::optional<Program> program_of(std::string_view op, DType dtype) {
  Program program;
  std::vector<Program::Value> operands;
  for (std::size_t i = 0; i < Program::operands(op); ++i) {
    operands.push_back(program.input(op == "where" && i == 0 ? DType::boolean : dtype));
  }
  try {
    program.output(program.apply(op, operands));
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
  return program;
}

/// Of contiguous operands, or of some with strides.
ProgramForm form_of(const Program& program, Layout layout) {
  ProgramForm form;
  form.layout = layout;
  form.rank = layout == Layout::flat ? 0 : 2;
  form.vectors = 2;
  form.group = 256;
  const std::size_t inputs = program.inputs().size();
  for (std::size_t i = 0; i < inputs + program.outputs().size(); ++i) {
    const bool quads = layout == Layout::flat || layout == Layout::rows;
    form.operands.push_back(
        {quads ? Walk::quads : Walk::places, static_cast<std::uint8_t>(i), i >= inputs});
  }
  return form;
}

std::string code_of(const Program& program, const ProgramForm& form) {
  return spirv_program(*program.data(), form).code.text;
}

/// What a module has, in its words.
struct Read {
  std::uint32_t bound = 0;
  std::size_t functions = 0, linkage = 0, names = 0;
  std::set<std::uint32_t> capabilities, called, defined;
};
Read read(const std::string& code) {
  std::vector<std::uint32_t> words(code.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), code.data(), code.size());
  Read result;
  result.bound = words[3];
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    REQUIRE((words[at] >> 16) != 0);
    switch (words[at] & 0xffff) {
      case 5:
        ++result.names;
        break;
      case 17:
        result.capabilities.insert(words[at + 1]);
        break;
      case 54:
        ++result.functions;
        CHECK(result.defined.insert(words[at + 2]).second);
        break;
      case 57:
        result.called.insert(words[at + 3]);
        break;
      case 71:
        result.linkage += words[at + 2] == 41 ? 1 : 0;
        break;
      default:
        break;
    }
  }
  return result;
}

constexpr std::uint32_t capability_float16 = 9, capability_float64 = 10;

TEST_SUITE("gpu spirv programs") {
  TEST_CASE("every op has a kernel for every dtype that it takes") {
    for (const std::string_view op : Program::ops()) {
      for (const DType dtype : of_each_class) {
        const auto program = program_of(op, dtype);
        if (!program) continue;
        CAPTURE(op);
        CAPTURE(to_string(dtype));
        for (const Layout layout : {Layout::flat, Layout::rows, Layout::split, Layout::single}) {
          const ProgramForm form = form_of(*program, layout);
          const KernelDescription kernel = spirv_program(*program->data(), form);
          const auto found = level_zero::interface_of(kernel);
          const std::size_t inputs = program->inputs().size();
          REQUIRE(found.info.bindings.size() == inputs + 1);
          CHECK_FALSE(found.info.bindings[0].writable);
          CHECK(found.info.bindings[inputs].writable);
          CHECK(found.info.params_bytes == 4 * params_words(*program->data(), form));
          CHECK(found.info.workgroup_size[0] == 256);
        }
      }
    }
  }

  TEST_CASE("a cast of every class to every dtype has a kernel") {
    for (const DType from : of_each_class) {
      for (std::size_t to = 0; to < EnumNames<DType>::values.size(); ++to) {
        if (static_cast<DType>(to) == from) continue;
        Program program;
        program.output(program.cast(program.input(from), static_cast<DType>(to)));
        CHECK_NOTHROW(level_zero::interface_of(
            spirv_program(*program.data(), form_of(program, Layout::flat))));
      }
    }
  }

  TEST_CASE("a kernel has the functions that it calls and no others") {
    const auto sine = program_of("sin", DType::float32);
    const Read found = read(code_of(*sine, form_of(*sine, Layout::single)));
    CHECK(found.called.size() + 1 == found.functions);
    for (const std::uint32_t id : found.called) CHECK(found.defined.contains(id));
    CHECK(found.linkage == 0);
    CHECK(found.names == 0);
    for (const std::uint32_t id : found.defined) CHECK(id < found.bound);
  }

  TEST_CASE("a kernel asks of the device only what it computes with") {
    const auto capabilities = [](DType dtype) {
      const auto program = program_of("add", dtype);
      return read(code_of(*program, form_of(*program, Layout::flat))).capabilities;
    };
    CHECK_FALSE(capabilities(DType::float32).contains(capability_float16));
    CHECK_FALSE(capabilities(DType::float32).contains(capability_float64));
    CHECK_FALSE(capabilities(DType::bfloat16).contains(capability_float16));
    CHECK_FALSE(capabilities(DType::int64).contains(capability_float64));
    CHECK(capabilities(DType::float16).contains(capability_float16));
    CHECK(capabilities(DType::float64).contains(capability_float64));
  }

  TEST_CASE("no other number in a module passes for float64") {
    for (const std::string_view op : Program::ops()) {
      for (const DType dtype : of_each_class) {
        const auto program = program_of(op, dtype);
        if (!program || dtype == DType::float64) continue;
        CAPTURE(op);
        CAPTURE(to_string(dtype));
        const Read found = read(code_of(*program, form_of(*program, Layout::flat)));
        CHECK_FALSE(found.capabilities.contains(capability_float64));
      }
    }
  }

  TEST_CASE("the same program is the same module, and holds only what an output needs") {
    Program program;
    const auto x = program.input(DType::float32);
    const auto y = program.apply("exp", {x});
    program.apply("sin", {y});
    program.output(program.apply("add", {y, program.number(DType::float32)}));
    const ProgramForm form = form_of(program, Layout::flat);
    const std::string code = code_of(program, form);
    CHECK(code == code_of(program, form));
    Program without_sine;
    const auto same = without_sine.apply("exp", {without_sine.input(DType::float32)});
    without_sine.output(without_sine.apply("add", {same, without_sine.number(DType::float32)}));
    CHECK(read(code).functions == read(code_of(without_sine, form)).functions);
  }

  TEST_CASE("operands that nothing needs, and those in place, have no binding of their own") {
    Program program;
    const auto x = program.input(DType::int16), unused = program.input(DType::int16);
    program.apply("neg", {unused});
    program.output(program.apply("neg", {x}));
    ProgramForm form = form_of(program, Layout::flat);
    form.operands = {{Walk::quads, 0, true}, {Walk::none, 0, false}, {Walk::quads, 0, true}};
    const auto found = level_zero::interface_of(spirv_program(*program.data(), form));
    REQUIRE(found.info.bindings.size() == 1);
    CHECK(found.info.bindings[0].writable);
  }

  TEST_CASE("parameters that are too many are in a buffer") {
    const auto program = program_of("add", DType::float32);
    ProgramForm form = form_of(*program, Layout::single);
    form.rank = 40;
    form.params_in_buffer = true;
    const auto found = level_zero::interface_of(spirv_program(*program->data(), form));
    CHECK(found.info.bindings.size() == 4);
    CHECK_FALSE(found.info.bindings[3].writable);
    CHECK(found.info.params_bytes == 0);
  }

  TEST_CASE("the writer knows the functions of its library alone") {
    const SpirvLibrary library(spirv_functions("program_functions"));
    SpirvWriter writer(library);
    CHECK_THROWS_AS(writer.call("op_sin_i32", {}), KernelError);
    const auto number = writer.type(SpirvOp::type_int, {32, 0});
    CHECK(writer.type(SpirvOp::type_int, {32, 0}) == number);
    CHECK(writer.type(SpirvOp::type_vector, {number, 16}) != number);
    CHECK(writer.constant(number, {7}) == writer.constant(number, {7}));
    CHECK(writer.constant(number, {7}) != writer.constant(number, {8}));
    CHECK_THROWS_AS(spirv_functions("functions_of_nobody"), KernelError);
  }
}

}  // namespace
}  // namespace tilewright::gpu
