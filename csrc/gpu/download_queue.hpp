#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/host_read.hpp"

namespace tilewright::gpu {

/// Downloads that go on after their calls: the device copies pieces of them to blocks of staging
/// memory, and any thread brings these to where they belong. Small ones share a block. Not
/// synchronised: the device holds its lock.
template <class Staging>
class DownloadQueue {
 public:
  static constexpr std::uint64_t least_block = 64 << 10, most_block = 4 << 20;
  /// Of all blocks, under way or kept.
  static constexpr std::uint64_t most_bytes = 16 << 20;

  struct Block {
    Staging staging;
    std::uint64_t bytes;
    std::uint64_t used = 0;  ///< a multiple of 4
    std::size_t pieces = 0;  ///< that the host has not seen
  };
  struct Piece {
    Block* block;
    std::uint64_t at;          ///< in the block
    std::span<std::byte> dst;  ///< empty where its download failed
    std::shared_ptr<const void> owner;
    std::uint64_t download;  ///< its number
    std::uint64_t place;     ///< from which on the block holds it
  };
  using Pieces = std::list<Piece>;

  std::uint64_t next_number() { return ++last_number_; }

  /// A block with room for so many bytes, at most most_block: the one that others share, one that
  /// is free or a new one of make(bytes). Null where there is none until pieces are done; drop() is
  /// for what gives way to a new one.
  template <class Make, class Drop>
  Block* room(std::uint64_t bytes, const Make& make, const Drop& drop) {
    if (shared_ != nullptr && shared_->bytes - shared_->used >= bytes) return shared_;
    stop_sharing();
    const std::uint64_t size = std::bit_ceil(std::clamp(bytes, least_block, most_block));
    Block* found = nullptr;
    for (const auto& block : blocks_) {
      if (block->pieces == 0 && block->bytes >= bytes &&
          (found == nullptr || block->bytes < found->bytes)) {
        found = block.get();
      }
    }
    if (found == nullptr) {
      std::erase_if(blocks_, [&](const auto& block) {
        if (block->pieces != 0 || bytes_ + size <= most_bytes) return false;
        bytes_ -= block->bytes;
        drop(block->staging);
        return true;
      });
      if (bytes_ + size > most_bytes) return nullptr;
      blocks_.reserve(blocks_.size() + 1);
      blocks_.push_back(std::make_unique<Block>(Block{make(size), size}));
      bytes_ += size;
      found = blocks_.back().get();
    }
    found->used = 0;
    return shared_ = found;
  }
  /// What is copied to the shared block from now on goes to another one.
  void stop_sharing() noexcept { shared_ = nullptr; }

  /// A piece of its own for add(), which cannot fail. It takes whole words of the block.
  Pieces piece(Block& block, std::uint64_t skip, std::span<std::byte> dst, const HostRead& read,
               std::uint64_t download) {
    Pieces one;
    one.push_back({&block, block.used + skip, dst, read.owner, download, 0});
    return one;
  }
  void add(Pieces&& one, std::uint64_t words_bytes, std::uint64_t place) noexcept {
    one.front().place = place;
    one.front().block->used += words_bytes;
    ++one.front().block->pieces;
    pieces_.splice(pieces_.end(), std::move(one));
  }
  /// What a download that failed would read to is the caller's again.
  void forget(std::uint64_t download) noexcept {
    for (Piece& piece : pieces_) {
      if (piece.download == download) piece.dst = {};
    }
  }

  bool empty() const { return pieces_.empty(); }
  /// Of the oldest piece; there is one.
  std::uint64_t first_place() const { return pieces_.front().place; }
  /// Whether pieces up to a place are still to be brought to where they belong.
  bool holds(std::uint64_t place) const { return !empty() && first_place() <= place; }
  const Pieces& pieces() const { return pieces_; }

  /// Takes the first `count` pieces out, calling freed(block) for each block that holds none more.
  template <class Freed>
  Pieces take(std::size_t count, const Freed& freed) {
    Pieces taken;
    taken.splice(taken.end(), pieces_, pieces_.begin(),
                 std::next(pieces_.begin(), static_cast<std::ptrdiff_t>(count)));
    for (const Piece& piece : taken) {
      if (--piece.block->pieces != 0) continue;
      if (piece.block == shared_) stop_sharing();
      freed(*piece.block);
    }
    return taken;
  }

  /// All blocks, as the device closes.
  template <class Drop>
  void clear(const Drop& drop) {
    pieces_.clear();
    stop_sharing();
    for (const auto& block : blocks_) drop(block->staging);
    blocks_.clear();
    bytes_ = 0;
  }

 private:
  std::vector<std::unique_ptr<Block>> blocks_;
  std::uint64_t bytes_ = 0;
  Block* shared_ = nullptr;
  Pieces pieces_;
  std::uint64_t last_number_ = 0;
};

/// Where a piece of a download lies, in whole words: [offset, offset + bytes) of the buffer, of
/// which the host gets `count` bytes from `skip` on.
struct DownloadWords {
  std::uint64_t offset, bytes, skip, count;

  /// The first piece of [offset, offset + count), at most `most` bytes of words.
  static DownloadWords first(std::uint64_t offset, std::uint64_t count, std::uint64_t most) {
    constexpr std::uint64_t word = 4;
    const std::uint64_t begin = offset / word * word, skip = offset - begin;
    const std::uint64_t now = std::min(count, most - skip);
    return {begin, (skip + now + word - 1) / word * word, skip, now};
  }
};

}  // namespace tilewright::gpu
