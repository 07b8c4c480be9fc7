#include "cpu/program/philox.hpp"

#include <algorithm>

#include "cpu/kernels/random_table.hpp"

namespace tilewright::cpu {

namespace {

using Node = std::uint32_t;

/// Words of a block between rounds.
using Words = std::array<Node, 4>;

/// A new first or third word, of a product's high half, the word beside it and the key.
struct Mixed {
  Node product, factor, beside, key;
};

class Reader {
 public:
  explicit Reader(const std::vector<ProgramNode>& nodes) : nodes_(nodes) {}

  std::optional<PhiloxNodes> read() const {
    std::optional<Words> words = last_words();
    if (!words) return {};
    PhiloxNodes found{.words = *words};
    for (int round = philox_rounds; round-- > 0;) {
      const std::optional<Mixed> first = mixed((*words)[0], 1), third = mixed((*words)[2], 0);
      if (!first || !third || !is_low((*words)[1], first->product) ||
          !is_low((*words)[3], third->product)) {
        return {};
      }
      if (round == philox_rounds - 1) found.key = {base(first->key), base(third->key)};
      if (!is_key(first->key, found.key[0], philox_steps[0], round) ||
          !is_key(third->key, found.key[1], philox_steps[1], round)) {
        return {};
      }
      words = Words{third->factor, first->beside, first->factor, third->beside};
    }
    found.counter = *words;
    const auto is_fixed = [&](Node node) {
      return nodes_[node].operand_count() == 0 && nodes_[node].kind != NodeKind::input;
    };
    const bool all_fixed = is_fixed(found.counter[2]) && is_fixed(found.counter[3]) &&
                           is_fixed(found.key[0]) && is_fixed(found.key[1]);
    return all_fixed ? std::optional(found) : std::nullopt;
  }

 private:
  bool is_op(Node node, ElementOp op, DType dtype) const {
    return nodes_[node].kind == NodeKind::op && nodes_[node].op == op &&
           nodes_[node].dtype == dtype;
  }
  bool is_cast(Node node, DType from, DType to) const {
    return nodes_[node].kind == NodeKind::cast && nodes_[node].dtype == to &&
           nodes_[nodes_[node].operands[0]].dtype == from;
  }
  bool is_constant(Node node, std::uint64_t value) const {
    return nodes_[node].kind == NodeKind::constant && nodes_[node].bits == value;
  }
  bool is_product(Node node, std::size_t factor) const {
    return is_op(node, ElementOp::mul_, DType::uint64) &&
           is_cast(nodes_[node].operands[0], DType::uint32, DType::uint64) &&
           is_constant(nodes_[node].operands[1], philox_factors[factor]);
  }
  bool is_low(Node node, Node product) const {
    return is_cast(node, DType::uint64, DType::uint32) && nodes_[node].operands[0] == product;
  }

  /// What the rounds come to, found by their last products.
  std::optional<Words> last_words() const {
    const auto count = static_cast<Node>(nodes_.size());
    Words words;
    for (std::size_t side = 0; side < 2; ++side) {
      Node product = count;
      while (product > 0 && !is_product(product - 1, side)) --product;
      if (product-- == 0) return {};
      const auto after = [&](const auto& is) {
        Node node = product + 1;
        while (node < count && !is(node)) ++node;
        return node;
      };
      const Node low = after([&](Node node) { return is_low(node, product); });
      const Node high = after([&](Node node) {
        const std::optional<Mixed> of = mixed(node, side);
        return of && of->product == product;
      });
      if (low == count || high == count) return {};
      // What comes of the first word is the third and the fourth, and the other way around.
      words[side == 0 ? 2 : 0] = high;
      words[side == 0 ? 3 : 1] = low;
    }
    return words;
  }

  /// high ^ beside ^ key
  std::optional<Mixed> mixed(Node node, std::size_t factor) const {
    if (!is_op(node, ElementOp::bitwise_xor_, DType::uint32)) return {};
    const auto [inner, key, unused] = nodes_[node].operands;
    if (!is_op(inner, ElementOp::bitwise_xor_, DType::uint32)) return {};
    const auto [high, beside, unused_too] = nodes_[inner].operands;
    if (!is_cast(high, DType::uint64, DType::uint32)) return {};
    const Node shift = nodes_[high].operands[0];
    if (!is_op(shift, ElementOp::right_shift_, DType::uint64) ||
        !is_constant(nodes_[shift].operands[1], 32)) {
      return {};
    }
    const Node product = nodes_[shift].operands[0];
    if (!is_product(product, factor)) return {};
    return Mixed{product, nodes_[nodes_[product].operands[0]].operands[0], beside, key};
  }

  /// The key that a later round's is a step from.
  Node base(Node key) const {
    return is_op(key, ElementOp::add_, DType::uint32) ? nodes_[key].operands[0] : key;
  }
  bool is_key(Node node, Node key, std::uint32_t step, int round) const {
    if (round == 0) return node == key;
    return is_op(node, ElementOp::add_, DType::uint32) && nodes_[node].operands[0] == key &&
           is_constant(nodes_[node].operands[1], step * static_cast<std::uint32_t>(round));
  }

  const std::vector<ProgramNode>& nodes_;
};

}  // namespace

bool PhiloxNodes::has_word(std::uint32_t node) const {
  return std::find(words.begin(), words.end(), node) != words.end();
}

std::optional<PhiloxNodes> find_philox(const ProgramData& program) {
  constexpr std::size_t fewest_nodes = 10 * philox_rounds;
  if (program.nodes.size() < fewest_nodes) return {};
  return Reader(program.nodes).read();
}

}  // namespace tilewright::cpu
