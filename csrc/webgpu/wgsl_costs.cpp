#include "webgpu/wgsl_costs.hpp"

#include <algorithm>
#include <array>

namespace tilewright::webgpu {

namespace {

using Place = Declarations::Place;

constexpr std::uint64_t weight_of_inverse_angle = 80;
constexpr std::uint64_t weight_of_transcendental = 40;
constexpr std::uint64_t weight_of_choice = 25;
constexpr std::uint64_t weight_of_loop_itself = 240;
/// What drivers write out is no larger than that.
constexpr std::uint64_t most_written_out = 16'384;
constexpr std::uint64_t weight_of_round = 28;
constexpr std::int64_t most_rounds_written_out = 32;
/// Of a loop between two numbers that does not count up or down.
constexpr std::uint64_t rounds_of_halving = 8;

bool is_one_of(std::string_view word, auto... words) { return ((word == words) || ...); }

bool compares(const Token& token) { return token.is("<") || token.is(">"); }

std::uint64_t rounds_between(std::int64_t from, std::int64_t to, std::int64_t step) {
  const std::int64_t distance = from < to ? to - from : from - to;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, (distance + step - 1) / step));
}

/// The largest number up to which a driver writes a loop out, of those that something in
/// [begin, end) is compared with.
std::optional<std::uint64_t> rounds_compared(const Declarations& module, Place begin, Place end) {
  std::optional<std::uint64_t> rounds;
  for (Place place = begin; place < end; ++place) {
    const Token& token = module.at(place);
    const bool equals =
        token.is("=") && (module.at(place - 1).is("=") || module.at(place - 1).is("!"));
    if (!compares(token) && !equals) continue;
    for (const Place beside : {module.at(place + 1).is("=") ? place + 2 : place + 1, place - 1}) {
      const auto number = module.number_if_known(beside);
      if (!number || *number < 0 || *number > most_rounds_written_out) continue;
      rounds = std::max<std::uint64_t>(rounds.value_or(1), static_cast<std::uint64_t>(*number));
    }
  }
  return rounds;
}

/// for (var i = A; i < B; i += C)
std::optional<std::uint64_t> rounds_counted(const Declarations& module, Place open) {
  const Place close = module.closing(open);
  Place first = open, second = open;
  for (Place place = open + 1; place < close; ++place) {
    if (!module.at(place).is(";")) continue;
    (first == open ? first : second) = place;
  }
  if (second == open) return std::nullopt;
  Place equals = open;
  while (equals < first && !module.at(equals).is("=")) ++equals;
  const auto from = module.number_if_known(equals + 1);
  Place compare = first;
  while (compare < second && !compares(module.at(compare)) && !module.at(compare).is("=")) {
    ++compare;
  }
  const auto to =
      module.number_if_known(module.at(compare + 1).is("=") ? compare + 2 : compare + 1);
  if (!from || !to) return rounds_compared(module, first, second);
  std::optional<std::int64_t> step;
  for (Place place = second + 1; place < close; ++place) {
    const bool adds = module.at(place).is("+") || module.at(place).is("-");
    if (adds && module.at(place + 1).is(module.at(place).text)) step = 1;
    if (adds && module.at(place + 1).is("=")) step = module.number_if_known(place + 2);
  }
  if (!step || *step < 1) return rounds_of_halving;
  const std::uint64_t rounds = rounds_between(*from, *to, *step);
  if (rounds > static_cast<std::uint64_t>(most_rounds_written_out)) return std::nullopt;
  return rounds;
}

}  // namespace

std::uint64_t weight_of_call(std::string_view function) {
  if (is_one_of(function, "asin", "acos", "atan", "atan2")) return weight_of_inverse_angle;
  if (is_one_of(function, "sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
                "exp", "exp2", "log", "log2", "pow", "ldexp", "frexp", "modf", "refract",
                "determinant", "normalize", "length", "distance", "smoothstep", "faceForward",
                "reflect")) {
    return weight_of_transcendental;
  }
  if (is_one_of(function, "select", "sign", "extractBits", "insertBits", "firstLeadingBit",
                "firstTrailingBit", "reverseBits", "countOneBits", "countLeadingZeros",
                "countTrailingZeros", "transpose", "dot", "cross", "clamp", "mix",
                "quantizeToF16") ||
      function.substr(0, 4) == "pack" || function.substr(0, 6) == "unpack" ||
      function.substr(0, 6) == "atomic" || function.substr(0, 8) == "subgroup") {
    return weight_of_choice;
  }
  return 0;
}

Loop loop_at(const Declarations& module, Place keyword) {
  const bool counts = module.at(keyword).is("for");
  if (counts && !module.at(keyword + 1).is("(")) return {keyword, std::nullopt};
  Place body = counts ? module.closing(keyword + 1) + 1 : keyword + 1;
  // A condition has no braces. What is none ends here, so that each word is read a few times.
  const auto goes_on = [&] {
    const Token& token = module.at(body);
    return !token.text.empty() && !is_one_of(token.text, "{", "}", ";", "for", "while", "loop");
  };
  while (goes_on()) ++body;
  if (!module.at(body).is("{")) return {keyword, std::nullopt};
  const Place end = module.closing(body);
  if (counts) return {end, rounds_counted(module, keyword + 1)};
  const bool is_while = module.at(keyword).is("while");
  return {end, rounds_compared(module, keyword + 1, is_while ? body : end)};
}

std::uint64_t weight_of_loop(const Loop& loop, std::uint64_t words) {
  const std::uint64_t kept = words + weight_of_loop_itself;
  if (!loop.rounds) return kept;
  // Each round hangs on the one before.
  return std::clamp(*loop.rounds * (words + weight_of_round) * 8 / 5, words,
                    std::max(kept, most_written_out));
}

bool is_known_index(const Declarations& module, Place bracket) {
  return module.number_if_known(bracket + 1, module.closing(bracket)).has_value();
}

std::optional<Place> indexed(const Declarations& module, Place bracket) {
  Place place = bracket - 1;
  while (place > 0) {
    const Token& token = module.at(place);
    if (token.is("]") || token.is(")")) {
      int depth = 0;
      for (;; --place) {
        const char c = module.at(place).text[0];
        depth += c == ')' || c == ']' ? 1 : c == '(' || c == '[' ? -1 : 0;
        if (depth == 0 || place == 0) break;
      }
      if (place == 0) return std::nullopt;
      // (*p)[i] is of p; f(x)[i] and array(x)[i] are of a value.
      if (token.is(")"))
        return module.at(place + 1).is("*") ? std::optional(place + 2) : std::nullopt;
      --place;
    } else if (token.is_name() && module.at(place - 1).is(".")) {
      place -= 2;
    } else {
      return token.is_name() ? std::optional(place) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace tilewright::webgpu
