// Philox by each instruction set that this processor has, and in programs.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/program/program_data.hpp"
#include "cpu/kernels/random_table.hpp"
#include "cpu/kernels/registers.hpp"
#include "cpu/processor.hpp"
#include "cpu/program/philox.hpp"
#include "tilewright/program.hpp"

namespace tilewright::cpu {

namespace baseline {
extern const RandomTable randoms;
}
#if defined(TILEWRIGHT_X86_KERNELS)
namespace avx2 {
extern const RandomTable randoms;
}
namespace avx512 {
extern const RandomTable randoms;
}
#endif

namespace {

template <class Body>
void with_tables(const Body& body) {
  body("baseline", baseline::randoms);
#if defined(TILEWRIGHT_X86_KERNELS)
  if (usable_isa() >= Isa::avx2) body("avx2", avx2::randoms);
  if (usable_isa() >= Isa::avx512) body("avx512", avx512::randoms);
#endif
}

using Words = std::array<std::uint32_t, 4>;

Words block(Words x, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{x[0]} * 0xD2511F53, c = std::uint64_t{x[2]} * 0xCD9E8D57;
    x = {static_cast<std::uint32_t>(c >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(c),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return x;
}

/// The rounds as tilewright.random spells them.
struct Spelled {
  Program program;
  std::array<Program::Value, 4> counter;
  std::array<Program::Value, 2> key;
  std::array<Program::Value, 4> words;

  Program::Value op(const char* name, Program::Value a, Program::Value b) {
    return program.apply(name, std::array{a, b});
  }

  /// `odd_round` has another key; the second half of the counter is an input or a number.
  Spelled(int rounds, int odd_round, bool has_rest_as_input) {
    const auto next = [&](bool is_input) {
      return is_input ? program.input(DType::uint32) : program.number(DType::uint32);
    };
    counter = {next(true), next(true), next(has_rest_as_input), next(has_rest_as_input)};
    key = {next(false), next(false)};
    std::array<Program::Value, 4> x = counter;
    for (int round = 0; round < rounds; ++round) {
      std::array<Program::Value, 2> high, low, now = key;
      for (std::size_t side = 0; side < 2; ++side) {
        const std::uint32_t factor = side == 0 ? 0xD2511F53 : 0xCD9E8D57;
        const std::uint32_t step = side == 0 ? 0x9E3779B9 : 0xBB67AE85;
        const Program::Value whole = op("mul", program.cast(x[2 * side], DType::uint64),
                                        program.constant(std::uint64_t{factor}, DType::uint64));
        high[side] = program.cast(
            op("right_shift", whole, program.constant(std::uint64_t{32}, DType::uint64)),
            DType::uint32);
        low[side] = program.cast(whole, DType::uint32);
        const std::uint32_t by = step * static_cast<std::uint32_t>(round) + (round == odd_round);
        if (round > 0) {
          now[side] = op("add", key[side], program.constant(std::uint64_t{by}, DType::uint32));
        }
      }
      x = {op("bitwise_xor", op("bitwise_xor", high[1], x[1]), now[0]), low[1],
           op("bitwise_xor", op("bitwise_xor", high[0], x[3]), now[1]), low[0]};
    }
    words = x;
    for (const Program::Value word : words) program.output(word);
  }
};

}  // namespace

TEST_CASE("cpu: blocks of Philox are the same by each instruction set") {
  std::vector<std::byte> memory(10 * register_bytes);
  const auto at = [&](std::size_t i) {
    return reinterpret_cast<std::uint32_t*>(memory.data() + i * register_bytes);
  };
  const Words rest{0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0};
  for (std::size_t i = 0; i < 4; ++i) *at(2 + i) = rest[i];
  for (std::size_t i = 0; i < program_block; ++i) {
    at(0)[i] = 0x243F6A88u - static_cast<std::uint32_t>(i * i);
    at(1)[i] = 0x85A308D3u + static_cast<std::uint32_t>(i);
  }
  // Of Random123's known answers.
  const Words known{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1};
  CHECK(block({0x243F6A88, 0x85A308D3, rest[0], rest[1]}, {rest[2], rest[3]}) == known);
  with_tables([&](const char* name, const RandomTable& table) {
    CAPTURE(name);
    for (const std::size_t n : {0, 1, 3, 8, 15, 16, 17, 33, 63, 511, 512}) {
      CAPTURE(n);
      for (std::size_t word = 0; word < 4; ++word) std::fill_n(at(6 + word), program_block, 7u);
      table.philox(at(0), at(1), at(2), at(6), n);
      bool all_are = true;
      for (std::size_t i = 0; i < program_block; ++i) {
        const Words expected =
            i < n ? block({at(0)[i], at(1)[i], rest[0], rest[1]}, {rest[2], rest[3]})
                  : Words{7, 7, 7, 7};
        for (std::size_t word = 0; word < 4; ++word) {
          all_are = all_are && at(6 + word)[i] == expected[word];
        }
      }
      CHECK(all_are);
      std::vector<std::uint32_t> joined(4 * n + 1, 9);
      const std::array<const void*, 4> parts{at(6), at(7), at(8), at(9)};
      table.join_four(parts.data(), joined.data(), n);
      for (std::size_t i = 0; i < 4 * n; ++i)
        all_are = all_are && joined[i] == at(6 + i % 4)[i / 4];
      CHECK(all_are);
      CHECK(joined.back() == 9);
    }
  });
}

TEST_CASE("cpu: the rounds of Philox are found in a program") {
  const auto found = [](const Spelled& spelled) { return find_philox(*spelled.program.data()); };
  const Spelled right(10, -1, false);
  const std::optional<PhiloxNodes> nodes = found(right);
  REQUIRE(nodes);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(nodes->counter[i] == static_cast<std::uint32_t>(right.counter[i]));
    CHECK(nodes->words[i] == static_cast<std::uint32_t>(right.words[i]));
    CHECK(nodes->has_word(static_cast<std::uint32_t>(right.words[i])));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(nodes->key[i] == static_cast<std::uint32_t>(right.key[i]));
  }
  CHECK_FALSE(nodes->has_word(nodes->counter[0]));
  CHECK_FALSE(found(Spelled(9, -1, false)));
  CHECK_FALSE(found(Spelled(10, -1, true)));
  for (int round = 1; round < 10; ++round) CHECK_FALSE(found(Spelled(10, round, false)));
}

}  // namespace tilewright::cpu
