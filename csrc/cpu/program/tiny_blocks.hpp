#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "core/requests.hpp"
#include "cpu/memory.hpp"
#include "cpu/program/block_walk.hpp"
#include "cpu/program/steps.hpp"

namespace tilewright::cpu {

/// Whether results lie in order, and operands so that blocks have a few elements each, as where
/// several short axes come last that were no neighbours in memory.
bool has_tiny_blocks(const MapRequest& request, const BlockGrid& grid);

/// The same op for one index of the first dimension after the other, where one has more elements
/// than are worth writing in order at a time; false where it has not.
bool each_of_first(const MapRequest& request, const std::function<void(const MapRequest&)>& body);

/// An operand's elements in the order of the shape, side by side, by a table of where those of the
/// last dimensions are.
void write_in_order(const MapRequest& request, std::size_t operand, std::size_t element_bytes,
                    std::byte* to);

/// The same op part by part, of one dimension each, whose operands are written in order before it.
class OrderedParts {
 public:
  OrderedParts(const MapRequest& request, std::vector<AllocationRef> room, Size rows);
  /// Calls body(part) for each.
  void each(const std::function<void(const MapRequest&)>& body) const;

 private:
  const MapRequest& request_;
  std::vector<AllocationRef> room_;  // of each operand, null where it is read where it lies
  Size rows_;                        // of the first dimension, in a part
};

/// None where there is no room.
std::optional<OrderedParts> in_order(const MapRequest& request, MemoryPool& pool);

}  // namespace tilewright::cpu
