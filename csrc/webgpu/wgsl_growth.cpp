#include "webgpu/wgsl_growth.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/text.hpp"
#include "webgpu/wgsl_costs.hpp"

namespace tilewright::webgpu {

namespace {

using Place = Declarations::Place;
using Global = Declarations::Global;

// Software Vulkan takes about five seconds for kernels of this weight at worst, in time that grows
// as its square. The library's own have a fifth of it.
constexpr std::uint64_t most_weight = 32'768;
constexpr std::uint64_t most_value_bytes = 8192;  // what WGSL promises
constexpr std::uint64_t most_elements = 2047;     // written out: what WGSL promises
constexpr int most_deep = 200;
constexpr std::uint64_t element_bytes = 4;

std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return std::min(a + b, most_weight + 1); }

/// Weights count tokens, those of a called function again at each call, elements of values, and
/// what drivers take long for (wgsl_costs.hpp).
class Growth {
 public:
  Growth(const gpu::ExpandedText& code, const std::vector<Token>& tokens,
         const Declarations& module)
      : code_(code), tokens_(tokens), module_(module), known_(module.globals().size()) {
    for (std::size_t i = 0; i < known_.size(); ++i) named_.emplace(module.globals()[i].name, i);
    for (const Declarations::Variable& variable : module.variables()) {
      variables_.emplace(variable.name, variable.type);
      if (variable.space == "private") private_.insert(variable.name);
    }
    // Twice, since functions may be used above where they are declared.
    for (int i = 0; i < 2; ++i) find_matrices();
    find_pointers();
  }

  void check() {
    for (std::size_t i = 0; i < known_.size(); ++i) visit(i);
  }

 private:
  enum class State : std::uint8_t { fresh, open, done };
  struct Known {
    State state = State::fresh;
    int deep = 0;
    std::uint64_t weight = 0;
    std::uint64_t result = 0;  ///< elements of what a function returns, or a constant holds
  };

  /// What this name stands for among the module's declarations, if it does so here.
  std::optional<std::size_t> meant(const Global& by, Place place) const {
    const Token& token = tokens_[place];
    if (!token.is_name() || (place > 0 && module_.at(place - 1).is("."))) return std::nullopt;
    if (place == by.begin + 1 || module_.at(place + 1).is(":")) return std::nullopt;
    const auto found = named_.find(token.text);
    if (found == named_.end()) return std::nullopt;
    const bool is_function = module_.globals()[found->second].word == "fn";
    if (is_function && !module_.at(place + 1).is("(")) return std::nullopt;
    return found->second;
  }

  /// Its recursion is as deep as declarations go by way of one another, which is bounded here.
  void visit(std::size_t index, int open = 0) {
    Known& known = known_[index];
    const Global& global = module_.globals()[index];
    if (known.state == State::done) return;
    if (known.state == State::open || open > most_deep) {
      refuse(code_, global.line,
             text(global.name, open > most_deep ? " is declared by way of too many others"
                                                : " is declared by way of itself"));
    }
    known.state = State::open;
    for (Place place = global.begin; place < global.end; ++place) {
      if (const auto other = meant(global, place)) {
        visit(*other, open + 1);
        known.deep = std::max(known.deep, known_[*other].deep + 1);
      }
    }
    if (known.deep > most_deep) {
      refuse(code_, global.line, text(global.name, " is declared by way of too many others"));
    }
    weigh(global, known);
    known.state = State::done;
  }

  void weigh(const Global& global, Known& known) {
    // Types, and what lies in memory that others than the kernel see, count where they are used.
    if (global.word == "struct") return check_members(global);
    if (global.word == "alias" || (global.word == "var" && global.space != "private")) return;
    locals_.clear();
    own_names_.clear();
    own_variables_.clear();
    indexed_once_.clear();
    if (global.word == "fn") name_own(global);
    struct Open {
      Loop loop;
      std::uint64_t before;
    };
    std::vector<Open> loops;
    std::uint64_t weight = 0;
    std::uint64_t of_arrays = 0;  // however often a loop goes round
    for (Place place = global.begin; place < global.end; ++place) {
      const std::string_view word = tokens_[place].text;
      if (global.word == "fn") {
        weight = sum(weight, weight_of_word(place));
        of_arrays = sum(of_arrays, weight_of_indexed(global, place));
        if (word == "for" || word == "while" || word == "loop") {
          loops.push_back({loop_at(module_, place), weight});
        }
        while (!loops.empty() && loops.back().loop.end <= place) {
          const Open& open = loops.back();
          weight = sum(open.before, weight_of_loop(open.loop, weight - open.before));
          loops.pop_back();
        }
      }
      weight = sum(weight, sum(1, weight_at(global, place)));
      const bool declares = word == "let" || word == "var" || word == "const";
      if (declares && global.word == "fn") declare_local(global, place);
      if (word == ":" && module_.names_composite(place + 1)) {
        std::uint64_t& local = locals_[module_.at(place - 1).text];
        local = std::max(local, elements_of(place + 1));
      }
      if (global.word == "const") known.result += made_at(place);
      const bool returns = word == ">" && module_.at(place - 1).is("-");
      if (returns && module_.names_composite(place + 1)) {
        known.result = std::max(known.result, elements_of(place + 1));
      }
      if (sum(weight, of_arrays) > most_weight) {
        refuse(
            code_, tokens_[place].line,
            text(global.name, " grows to more than ", most_weight,
                 " words as it is compiled, with what it calls, its loops written out, and the "
                 "elements of its values and of the arrays that it indexes; make it shorter, use "
                 "loops that go round more than 32 times, keep arrays that are indexed at run time "
                 "small or in workgroup memory, or pass trusted=True, which has no such bound"));
      }
    }
    weight = sum(weight, of_arrays);
    // A single number is worked out, however it is written.
    const bool single = global.word == "const" && !holds_values(global);
    known.weight = single || global.word == "override" || global.word == "var" ? 0 : weight;
  }

  bool ends_statement(Place place) const {
    const Token& token = module_.at(place);
    return token.text.empty() || token.is(";") || token.is("{") || token.is("}");
  }

  bool is_matrix(const Token& token) const {
    return matrices_.contains(token.text) ||
           (token.text.size() >= 6 && token.text.substr(0, 3) == "mat" && token.text[4] == 'x');
  }

  static bool declares(const Token& token) {
    return token.is("let") || token.is("var") || token.is("const") || token.is("alias") ||
           token.is("fn") || token.is("struct");
  }

  /// Whether a matrix is named from here to the statement's end, or to where one is declared.
  bool names_matrix(Place place) const {
    for (; !ends_statement(place) && !declares(tokens_[place]); ++place) {
      if (is_matrix(tokens_[place])) return true;
    }
    return false;
  }

  /// Names of matrices, of functions that give one and of what has one, wherever they are declared.
  void find_matrices() {
    for (Place place = 0; place < tokens_.size(); ++place) {
      const Token& token = tokens_[place];
      const Token& next = module_.at(place + 1);
      if (token.is("struct") ? names_matrix(place + 3)
                             : declares(token) && names_matrix(place + 1)) {
        matrices_.insert(module_.at(place + (next.is("<") ? 4 : 1)).text);
      } else if (token.is_name() && next.is(":") && is_matrix(module_.at(place + 2))) {
        matrices_.insert(token.text);
      }
    }
  }

  /// Whether anything is indexed at run time by way of a pointer.
  void find_pointers() {
    std::set<std::string_view> pointers;
    for (Place place = 0; place < tokens_.size(); ++place) {
      const Token& next = module_.at(place + 1);
      const bool points = (next.is(":") && module_.at(place + 2).is("ptr")) ||
                          (next.is("=") && module_.at(place + 2).is("&"));
      if (points) pointers.insert(tokens_[place].text);
    }
    for (Place place = 1; place < tokens_.size(); ++place) {
      if (!tokens_[place].is("[") || webgpu::is_known_index(module_, place)) continue;
      const auto of = indexed(module_, place);
      points_are_indexed_ |=
          of && (module_.at(*of - 1).is("*") || pointers.contains(tokens_[*of].text));
    }
  }

  /// Names of the function's own, which hide the module's.
  void name_own(const Global& global) {
    for (Place place = global.begin; place < global.end; ++place) {
      const Token& token = tokens_[place];
      if (token.is("let") || token.is("var")) {
        const Token& name = module_.at(place + (module_.at(place + 1).is("<") ? 4 : 1));
        own_names_.insert(name.text);
        if (token.is("var")) own_variables_.insert(name.text);
      } else if (token.is_name() && module_.at(place + 1).is(":")) {
        own_names_.insert(token.text);
      }
    }
  }

  /// Of calls of built-in functions, of operators and of branches.
  std::uint64_t weight_of_word(Place place) {
    const Token& token = tokens_[place];
    const bool starts = ends_statement(place) || declares(token);
    if (starts) of_matrices_ = names_matrix(place + 1);
    if (token.is("/") || token.is("%")) return weight_of_division;
    if (token.is("*")) return of_matrices_ ? weight_of_matrix_product : 0;
    if (token.is("if") || token.is("case")) return weight_of_branch;
    if (!token.is_name() || !module_.at(place + 1).is("(")) return 0;
    return named_.contains(token.text) ? 0 : weight_of_call(token.text);
  }

  bool is_known_index(Place bracket) const {
    const Place end = module_.closing(bracket);
    for (Place place = bracket + 1; place < end; ++place) {
      if (own_names_.contains(tokens_[place].text)) return false;
    }
    return webgpu::is_known_index(module_, bracket);
  }

  /// Of what is indexed at run time here, or may be where it is pointed to.
  std::uint64_t weight_of_indexed(const Global& global, Place place) {
    const Token& token = tokens_[place];
    const Token& before = module_.at(place - 1);
    if (token.is("&") && place > 0 && !before.is("&") && points_are_indexed_) {
      return weight_of_elements(global, place + 1);
    }
    const bool indexes =
        token.is("[") && place > 0 && (before.is_name() || before.is("]") || before.is(")"));
    if (!indexes || is_known_index(place)) return 0;
    const auto of = indexed(module_, place);
    if (!of) return weight_of_own_index;
    const std::string_view name = tokens_[*of].text;
    const bool own = own_names_.contains(name);
    if (!own && variables_.contains(name) && !private_.contains(name)) return weight_of_index;
    const std::uint64_t index = of_matrices_ ? 2 * weight_of_own_index : weight_of_own_index;
    return index + weight_of_elements(global, *of);
  }

  /// Of the array that this name holds: a variable's elements once, those of a value each time.
  std::uint64_t weight_of_elements(const Global& global, Place name) {
    const std::string_view word = module_.at(name).text;
    std::uint64_t elements = 0;
    bool once = true;
    if (const auto local = locals_.find(word); local != locals_.end()) {
      elements = local->second;
      once = own_variables_.contains(word);
    } else if (own_names_.contains(word)) {
      return 0;
    } else if (private_.contains(word)) {
      elements = elements_of(variables_.at(word));
    } else if (const auto other = meant(global, name)) {
      elements = known_[*other].result;
      once = false;
    }
    if (once && !indexed_once_.insert(word).second) return 0;
    return elements * weight_of_indexed_element;
  }

  bool holds_values(const Global& global) const {
    for (Place place = global.begin; place < global.end; ++place) {
      const std::string_view word = tokens_[place].text;
      if (module_.names_composite(place) || word == "array") return true;
      if (word.substr(0, 3) == "vec" || word.substr(0, 3) == "mat") return true;
      const auto other = meant(global, place);
      if (other && known_[*other].weight != 0) return true;
    }
    return false;
  }

  void check_members(const Global& global) const {
    const auto end = tokens_.begin() + static_cast<std::ptrdiff_t>(global.end);
    const auto members = std::count_if(tokens_.begin() + static_cast<std::ptrdiff_t>(global.begin),
                                       end, [](const Token& token) { return token.is(":"); });
    if (static_cast<std::uint64_t>(members) > most_elements) {
      refuse(code_, global.line,
             text(global.name, " has more than ", most_elements, " members; use an array"));
    }
  }

  std::uint64_t weight_at(const Global& global, Place place) {
    const Token& token = tokens_[place];
    if (module_.names_composite(place)) return elements_of(place);
    if (token.is("array") && module_.at(place + 1).is("(")) {
      check_elements(place);
      return 0;
    }
    if (!token.is_name() || (place > 0 && module_.at(place - 1).is("."))) return 0;
    const Token& next = module_.at(place + 1);
    if (const auto local = locals_.find(token.text); local != locals_.end()) {
      return next.is("[") || next.is(".") || module_.at(place - 1).is("&") ? 0 : local->second;
    }
    if (const auto variable = variables_.find(token.text); variable != variables_.end()) {
      return elements_of_use(place, variable->second);
    }
    const auto other = meant(global, place);
    return other ? known_[*other].weight : 0;
  }

  /// What a local name holds: by its type where one is spelled, else by what it is made of.
  void declare_local(const Global& global, Place place) {
    const std::string_view name = module_.at(place + (module_.at(place + 1).is("<") ? 4 : 1)).text;
    std::uint64_t most = 0;
    std::uint64_t all = 0;
    bool made = false;
    for (Place at = place + 2; at < global.end; ++at) {
      const Token& token = tokens_[at];
      if (token.is(";") || token.is("let") || token.is("var") || token.is("const")) break;
      made |= token.is("array") || module_.names_composite(at);
      const auto other = meant(global, at);
      const bool called = other && module_.globals()[*other].word == "fn";
      const std::uint64_t one = called ? known_[*other].result : weight_at(global, at);
      most = std::max(most, one);
      all = sum(all, one + (token.is(",") ? 1 : 0));
    }
    std::uint64_t& local = locals_[name];
    local = std::max(local, made ? all : most);
  }

  /// Elements of the array whose type or constructor is at a place; 0 where there is none.
  std::uint64_t made_at(Place place) const {
    if (module_.names_composite(place)) return elements_of(place);
    return tokens_[place].is("array") && module_.at(place + 1).is("(") ? written_out(place) : 0;
  }

  std::uint64_t written_out(Place array) const {
    const Place end = module_.closing(array + 1);
    std::uint64_t elements = 1;
    int depth = 0;
    for (Place place = array + 2; place < end; ++place) {
      const char c = tokens_[place].text[0];
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (depth == 0 && c == ',') ++elements;
    }
    return elements;
  }

  void check_elements(Place array) const {
    const std::uint64_t elements = written_out(array);
    if (elements > most_elements) {
      refuse(code_, tokens_[array].line,
             text("an array of more than ", most_elements,
                  " elements is written out; pass it in a buffer"));
    }
  }

  std::uint64_t elements_of(Place type) const {
    const std::uint64_t bytes = module_.largest_type(type).bytes;
    if (bytes > most_value_bytes) {
      refuse(code_, tokens_[type].line,
             text(tokens_[type].text, " is a type of ", bytes, " bytes, expected at most ",
                  most_value_bytes, " in a function; use storage or workgroup memory"));
    }
    return bytes / element_bytes;
  }

  /// Of what is read or written where the variable of this type is named.
  std::uint64_t elements_of_use(Place place, Place type) const {
    const Place name = place++;
    while (module_.at(place).is("[") || module_.at(place).is(".")) {
      const auto part = module_.part(type, place);
      if (!part) return 0;  // of a vector or a matrix
      type = *part;
      place = module_.at(place).is("[") ? module_.closing(place) + 1 : place + 2;
    }
    if (name > 0 && module_.at(name - 1).is("&") && module_.at(place).is(")")) return 0;
    return elements_of(type);
  }

  const gpu::ExpandedText& code_;
  const std::vector<Token>& tokens_;
  const Declarations& module_;
  std::map<std::string_view, std::size_t> named_;
  std::map<std::string_view, Place> variables_;  // to their types
  std::vector<Known> known_;
  std::set<std::string_view> private_;
  std::set<std::string_view> matrices_;
  bool points_are_indexed_ = false;
  // Of the function that is weighed.
  std::map<std::string_view, std::uint64_t> locals_;
  std::set<std::string_view> own_names_, own_variables_, indexed_once_;
  bool of_matrices_ = false;  // the statement
};

}  // namespace

void check_growth(const gpu::ExpandedText& code, const std::vector<Token>& tokens,
                  const Declarations& module) {
  Growth(code, tokens, module).check();
}

}  // namespace tilewright::webgpu
