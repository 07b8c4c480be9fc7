#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "level_zero/spirv_interface.hpp"
#include "tilewright/error.hpp"

namespace tilewright::level_zero {
namespace {

/// Writes modules word by word.
class Module {
 public:
  Module() : words_{0x07230203, 0x00010200, 0, 100, 0} {}

  Module& op(std::uint32_t code, std::initializer_list<std::uint32_t> operands) {
    words_.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | code);
    words_.insert(words_.end(), operands);
    return *this;
  }
  Module& named(std::uint32_t code, std::initializer_list<std::uint32_t> operands,
                const std::string& name) {
    std::vector<std::uint32_t> letters(name.size() / 4 + 1);
    std::memcpy(letters.data(), name.data(), name.size());
    words_.push_back(static_cast<std::uint32_t>(operands.size() + letters.size() + 1) << 16 | code);
    words_.insert(words_.end(), operands);
    words_.insert(words_.end(), letters.begin(), letters.end());
    return *this;
  }
  std::vector<std::uint32_t>& words() { return words_; }
  std::string bytes() const {
    return {reinterpret_cast<const char*>(words_.data()), words_.size() * 4};
  }

 private:
  std::vector<std::uint32_t> words_;
};

enum : std::uint32_t {
  kernel = 1,
  void_type,
  uint_type,
  float_type,
  vec3,
  three,
  array,
  structure,
  structure_pointer,
  buffer_pointer,
  constant_pointer,
  local_pointer,
  sampler,
  first_argument
};

/// The types that the tests use, and the entry point k with workgroups of 8 x 4 x 2.
Module types(bool with_size = true) {
  Module m;
  m.named(15, {6, kernel}, "k");
  if (with_size) m.op(16, {kernel, 17, 8, 4, 2});
  m.op(19, {void_type}).op(21, {uint_type, 32, 0}).op(22, {float_type, 32});
  m.op(23, {vec3, float_type, 3}).op(43, {uint_type, three, 3}).op(28, {array, float_type, three});
  m.op(30, {structure, uint_type, vec3, array}).op(32, {structure_pointer, 7, structure});
  m.op(32, {buffer_pointer, 5, float_type}).op(32, {constant_pointer, 0, float_type});
  m.op(32, {local_pointer, 4, array}).op(26, {sampler});
  return m;
}

/// The kernel with arguments of these types.
Module& function(Module& m, std::initializer_list<std::uint32_t> arguments) {
  m.op(54, {void_type, kernel, 0, void_type});
  std::uint32_t id = first_argument;
  for (const std::uint32_t type : arguments) m.op(55, {type, id++});
  return m.op(56, {});
}

SpirvInterface read(const std::string& code, const std::string& entry = "k",
                    std::uint32_t group_size = 0) {
  return interface_of({"a_kernel", {code, {}}, entry, true, {}, {}, group_size});
}

std::string refusal(const std::string& code, const std::string& entry = "k") {
  try {
    read(code, entry);
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& message, const char* words) {
  return message.find(words) != std::string::npos;
}

TEST_CASE("level-zero spirv: buffers and parameters in their order") {
  Module m = types();
  m.op(71, {first_argument, 38, 6});      // not written
  m.op(71, {first_argument + 2, 38, 2});  // by value
  m.named(5, {first_argument}, "input").named(6, {structure, 1}, "direction");
  function(m, {buffer_pointer, buffer_pointer, structure_pointer, constant_pointer, float_type});
  const SpirvInterface found = read(m.bytes());
  const KernelInfo& info = found.info;
  CHECK(info.name == "a_kernel");
  CHECK(info.workgroup_size == std::array<std::uint32_t, 3>{8, 4, 2});
  REQUIRE(info.bindings.size() == 3);
  CHECK(info.bindings[0].name == "input");
  CHECK_FALSE(info.bindings[0].writable);
  CHECK(info.bindings[1].name == "argument1");
  CHECK(info.bindings[1].writable);
  CHECK_FALSE(info.bindings[2].writable);
  REQUIRE(info.params.size() == 4);
  CHECK(info.params[0].type == "int32");
  CHECK(info.params[1].name == "direction");
  CHECK(info.params[1].type == "vec3<f32>");
  CHECK(info.params[1].offset == 16);
  CHECK(info.params[1].bytes == 12);
  CHECK(info.params[2].type == "array<f32, 3>");
  CHECK(info.params[2].offset == 32);
  CHECK(info.params[2].bytes == 12);
  CHECK(info.params[3].name == "argument4");
  CHECK(info.params[3].offset == 48);
  CHECK(info.params_bytes == 64);
  REQUIRE(found.arguments.size() == 5);
  CHECK(found.arguments[2].offset == 0);
  CHECK(found.arguments[2].bytes == 48);
  CHECK(found.arguments[4].offset == 48);
  CHECK(found.arguments[4].bytes == 4);
  CHECK(found.arguments[3].is_buffer);
}

TEST_CASE("level-zero spirv: packed structures, and workgroup memory") {
  Module m = types();
  m.op(71, {structure, 10}).op(71, {first_argument, 38, 2});
  m.op(59, {local_pointer, 50, 4}).op(59, {local_pointer, 51, 4});
  function(m, {structure_pointer});
  const SpirvInterface found = read(m.bytes());
  CHECK(found.info.params[1].offset == 4);
  CHECK(found.info.params_bytes == 32);
  CHECK(found.info.workgroup_bytes == 24);
}

TEST_CASE("level-zero spirv: the size of workgroups comes from the code, else from the launcher") {
  Module m = types(false);
  function(m, {});
  CHECK(says(refusal(m.bytes()), "reqd_work_group_size"));
  CHECK(read(m.bytes(), "k", 128).info.workgroup_size == std::array<std::uint32_t, 3>{128, 1, 1});
}

TEST_CASE("level-zero spirv: what cannot be taken is refused by name") {
  Module m = types();
  CHECK(says(refusal(function(m, {}).bytes(), "other"), "no kernel \"other\"; its kernels are: k"));
  m = types();
  CHECK(says(refusal(m.bytes()), "lacks the code of k"));
  m = types();
  CHECK(says(refusal(function(m, {local_pointer}).bytes()), "argument 0 is a pointer to local"));
  m = types();
  CHECK(says(refusal(function(m, {sampler}).bytes()), "argument 0 is neither"));
  m = types();
  CHECK(says(refusal(function(m, {structure_pointer}).bytes()), "pointer to no buffer"));
  m = types();
  CHECK(says(refusal(function(m, {99}).bytes()), "argument 0 is neither"));
  m = types();
  m.op(43, {uint_type, 60, 1u << 30}).op(28, {61, array, 60});
  CHECK(says(refusal(function(m, {61}).bytes()), "12884901888 bytes, expected at most 65536"));
  m = types();
  m.op(21, {60, 4096, 0});
  CHECK(says(refusal(function(m, {60}).bytes()), "numbers of 4096 bits"));
  m = types();
  m.op(16, {kernel, 17, 0, 1, 1});
  CHECK(says(refusal(function(m, {}).bytes()), "no work-items"));
}

TEST_CASE("level-zero spirv: types that hold themselves end") {
  Module m = types();
  m.op(30, {60, 60});
  CHECK(says(refusal(function(m, {60}).bytes()), "nested too deeply"));
  m = types();
  m.op(23, {60, 61, 4}).op(23, {61, 60, 4});
  CHECK(says(refusal(function(m, {60}).bytes()), "nested too deeply"));
}

TEST_CASE("level-zero spirv: what is no module at all") {
  CHECK(says(refusal("kernel void k() {}"), "expected the words of a SPIR-V module"));
  CHECK(says(refusal(std::string(40, 'x')), "does not begin as"));
  CHECK(says(refusal(std::string("\x07\x23\x02\x03", 4) + std::string(36, '\0')), "byte order"));
  CHECK_FALSE(is_spirv("@compute"));
  CHECK_FALSE(is_spirv("ab"));
  CHECK(is_spirv(types().bytes()));
  Module m = types();
  m.words().push_back(0);
  CHECK(says(refusal(m.bytes()), "an instruction of 0 words"));
  m.words().back() = 5u << 16 | 54;
  CHECK(says(refusal(m.bytes()), "an instruction of 5 words, but 1 are left"));
}

TEST_CASE("level-zero spirv: a module has at most 8 MiB") {
  Module m = types();
  std::vector<std::uint32_t>& words = function(m, {buffer_pointer}).words();
  words.resize((8 << 20) / 4, 1u << 16);  // instructions that do nothing
  CHECK(read(m.bytes()).arguments.size() == 1);
  words.push_back(1u << 16);
  CHECK(says(refusal(m.bytes()), "it is 8388612 bytes, expected at most 8388608"));
}

TEST_CASE("level-zero spirv: names and arguments are bounded") {
  // A name that many arguments share would be there as many times.
  Module m = types();
  m.named(5, {first_argument}, std::string(200'000, 'x'));
  m.op(54, {void_type, kernel, 0, void_type});
  for (int i = 0; i < 1024; ++i) m.op(55, {buffer_pointer, first_argument});
  Module more = m;
  const SpirvInterface found = read(m.op(56, {}).bytes());
  CHECK(found.arguments.size() == 1024);
  CHECK(found.info.bindings[1023].name == std::string(1000, 'x'));
  more.op(55, {buffer_pointer, first_argument}).op(56, {});
  CHECK(says(refusal(more.bytes()), "it has 1025 arguments, expected at most 1024"));
}

TEST_CASE("level-zero spirv: of many kernels some are listed") {
  Module m;
  for (std::uint32_t i = 0; i < 1000; ++i) m.named(15, {6, kernel}, std::string(50, 'x'));
  const std::string words = refusal(m.bytes(), "other");
  CHECK(says(words, "x and 980 more"));
  CHECK(words.size() < 2000);
}

/// An error or an interface; what matters is that it ends, within the bytes.
void try_to_read(const std::string& code) {
  try {
    read(code);
  } catch (const KernelError&) {
    // As good an answer as any.
  }
}

TEST_CASE("level-zero spirv: modules with wrong words anywhere, or cut off, are read safely") {
  Module whole = types();
  whole.op(71, {first_argument + 1, 38, 2}).op(59, {local_pointer, 50, 4});
  function(whole, {buffer_pointer, structure_pointer, vec3});
  const std::vector<std::uint32_t> words = whole.words();
  for (std::size_t length = 0; length < words.size(); ++length) {
    Module cut;
    cut.words().assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(length));
    try_to_read(cut.bytes());
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    Module wrong;
    wrong.words() = words;
    for (int i = 0; i < 3; ++i) {
      std::uint32_t& word = wrong.words()[5 + random() % (words.size() - 5)];
      switch (random() % 4) {
        case 0:
          word = static_cast<std::uint32_t>(random());
          break;
        case 1:
          word = static_cast<std::uint32_t>(random() % 16);
          break;
        case 2:
          word ^= 1u << (random() % 32);
          break;
        default:
          word = ~0u;
      }
    }
    try_to_read(wrong.bytes());
  }
  CHECK(read(whole.bytes()).arguments.size() == 3);
}

}  // namespace
}  // namespace tilewright::level_zero
