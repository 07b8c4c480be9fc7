#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright {

/// Freed blocks of memory by their size, which are kept for reuse. A block serves only requests of
/// its size. Not synchronised.
template <class Block>
class FreeBlocks {
 public:
  /// What all of them hold.
  std::uint64_t bytes() const { return bytes_; }

  std::optional<Block> take(std::uint64_t size) {
    Shelf& shelf = shelf_of(size);
    if (shelf.blocks.empty()) return std::nullopt;
    return take_last(size, shelf);
  }

  /// Throws std::bad_alloc where there is no room to remember it, which leaves the block alone.
  void put(std::uint64_t size, Block&& block) {
    shelf_of(size).blocks.push_back(std::move(block));
    bytes_ += size;
  }

  /// One of the size that was asked for and put back least lately. There must be one.
  Block take_oldest() {
    const auto oldest = std::ranges::min_element(shelves_, {}, [](const auto& entry) {
      return entry.second.blocks.empty() ? ~std::uint64_t{0} : entry.second.used;
    });
    return take_last(oldest->first, oldest->second);
  }

 private:
  struct Shelf {
    std::vector<Block> blocks;
    std::uint64_t used = 0;  // when
  };

  Shelf& shelf_of(std::uint64_t size) {
    Shelf& shelf = shelves_[size];
    shelf.used = ++uses_;
    return shelf;
  }
  Block take_last(std::uint64_t size, Shelf& shelf) {
    Block block = std::move(shelf.blocks.back());
    shelf.blocks.pop_back();
    bytes_ -= size;
    return block;
  }

  std::map<std::uint64_t, Shelf> shelves_;  // by size
  std::uint64_t uses_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace tilewright
