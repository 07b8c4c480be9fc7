#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/requests.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

/// A part of the walk that may be one launch.
struct MapPiece {
  const std::vector<bool>& used;  // operands that have a binding
  Size n;
  std::array<Size, max_rank> shape;
  std::vector<Size> offsets;  // of each operand, in elements
  bool tiled = false;         // the last two dimensions are a tile
  std::optional<std::size_t>
      across{};         // the dimension that is gone through in tiles of it and the last
  bool packed = false;  // inputs of one dtype are bound together, from their buffer's start on
};

/// The operands of a piece as a kernel finds them: bindings, and their starts in elements.
struct MapPlaces {
  std::vector<Binding> bindings;
  std::vector<std::uint32_t> starts;
};

MapPiece piece_of(const MapRequest& r, const std::vector<bool>& used);
/// `count` places of dimension d from `first` on.
MapRequest part_of(const MapRequest& r, std::size_t d, Size first, Size count);

}  // namespace tilewright::gpu
