#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "core/convolution.hpp"
#include "core/requests.hpp"
#include "cpu/kernels/table.hpp"
#include "cpu/memory.hpp"
#include "cpu/sizes.hpp"
#include "tilewright/types.hpp"

// What the convolution ops share. Each walks a grid of positions over a source tensor, and along
// one axis a tap of the filter finds at grid position g the source index
//   source_step * (g + shift) + phase - source_origin.
// The forward op and the gradient of its filter walk the outputs over the input, in steps of the
// stride; the gradient of its input walks the grid over the output gradient, where each phase of
// the stride is a convolution with the taps that reach it.
namespace tilewright::cpu {

/// A tap along one axis: `index` is its place in the filter, `phase` a place in source_phases.
struct AxisTap {
  Size shift, phase, index;
};

/// The targets at target_step * g + offset - target_origin, and the taps that reach them.
struct TargetPhase {
  Size offset;
  std::vector<AxisTap> taps;
};

/// Neighbours among the positions of a grid along an axis.
struct GridRange {
  Size begin, end;
  Size size() const { return std::max<Size>(end - begin, 0); }
};

struct ConvAxis {
  Size source_size, source_step, source_origin;
  Size target_size, target_step, target_origin;
  Size begin, end;            ///< of the grid
  Size min_shift, max_shift;  ///< over all taps
  std::vector<Size> source_phases;
  std::vector<TargetPhase> target_phases;

  Size size() const { return end - begin; }
  Size span() const { return max_shift - min_shift; }
  /// Whether positions are steps of one in the source, all taps within it.
  bool is_plain() const;
  /// Each tap of a forward axis or of a backward one becomes a phase of its own, without a shift,
  /// where a block of so many positions is then smaller: taps lie far apart. Whether it did.
  bool part_taps(Size block);

  /// Those that see padding alone at every position.
  void drop_unseen_taps();

  /// The source's index of what a position sees through a tap; outside it is padding.
  Size seen_at(Size position, const AxisTap& tap) const {
    return source_step * (position + tap.shift) +
           source_phases[static_cast<std::size_t>(tap.phase)] - source_origin;
  }
  /// The positions of the targets of a phase with that offset.
  GridRange targets_at(Size offset) const;

  static ConvAxis forward(const SlidingAxis& axis);
  static ConvAxis backward(const SlidingAxis& axis);
};

/// Pairs of positions and taps that a convolution walks: of all outputs with all taps, or for the
/// gradient of its input of the grid with them.
double walked_pairs(const Conv2dRequest& request);
double walked_pairs_backward(const Conv2dRequest& request);

/// A part of the grid.
struct ConvBlock {
  Size row, column, rows, columns;
};

/// How a block of the source is laid out so that a tap is a shift: for each channel, a plane of
/// float32 for each pair of phases, its rows `width` long. Grid position (i, j) of a block is at
/// i * width + j, so a block is one run of positions, between its rows some that mean nothing.
struct ConvPlanes {
  Size height, width, channel_stride;

  /// Of blocks of `rows` x `columns`.
  ConvPlanes(const ConvAxis& row_axis, const ConvAxis& column_axis, Size rows, Size columns);

  std::ptrdiff_t offset(const ConvAxis& row_axis, const ConvAxis& column_axis, const AxisTap& row,
                        const AxisTap& column) const;
  Size positions(const ConvBlock& block) const { return (block.rows - 1) * width + block.columns; }
};

/// Copies a block of `channels` planes of the source into the layout.
template <class T>
void pack_planes(const ConvAxis& row_axis, const ConvAxis& column_axis, const ConvPlanes& planes,
                 const ConvBlock& block, const T* source, Size channels, float* to);

/// What RunCopies copies at a time where rows are so long at most.
inline Size copy_length(Size longest) {
  return longest <= 4 ? 4 : longest <= 8 || kernels().simd_width <= 8 ? 8 : 16;
}
/// What one such copy takes, in products of a vector and a weight.
inline double copy_cost() { return kernels().simd_width > 8 ? 4 : 6.5; }

/// What a vector of planes that are laid out takes, in the same.
constexpr double pack_cost = 8;

/// What a tap product takes for each tap and channel, in products of a vector and a weight.
double product_cost(Size filters, Size positions);
/// The same with what must be read, where a vector takes `of_vector`.
double tiles_cost(Size rows, Size vectors, double of_vector);
/// Filters of its tiles, and what a cycle is in products.
Size product_rows();
double product_cycle();

/// The floats of packed planes, with room for a whole vector at the end.
std::size_t packed_size(const ConvPlanes& planes, Size channels);

/// The grid in blocks whose part of the source stays in the cache; in at least about `tasks` of
/// them where that many are worth it.
ConvBlock block_size(const ConvAxis& row_axis, const ConvAxis& column_axis, Size channels,
                     Size tasks);
/// The same where blocks are packed. Parts the taps of the axes where that takes less room.
ConvBlock packed_block_size(ConvAxis& row_axis, ConvAxis& column_axis, Size channels, Size tasks);

/// Adds what is at `addend` to sums, and takes the activation of that.
template <class T>
void end_sums(const T* addend, Activation activation, float slope, float* sums, Size n);

/// For each group: target[f] = start[f] + the sum over channels of source[c] with filter [f][c].
template <class T>
struct Correlation {
  std::string_view op;
  MemoryPool& pool;  ///< of its working memory
  ConvAxis rows, columns;
  Size batch, groups, channels, filters;  ///< of a group
  const T* source;
  const float* weights;
  Size group_stride, filter_stride, channel_stride, row_stride;  ///< of the weights
  const float* start;                                            ///< of all filters, or null
  T* target;
  Activation activation = Activation::none;  ///< of what start, sums and addend come to
  float slope = 0;
  const T* addend = nullptr;  ///< null, or as the target lies, whose steps are one then
};

template <class T>
void correlate(Correlation<T> correlation);

/// How the images of a batch are taken: so many at a time, so many columns of a row; and whether
/// vectors are of filters, or of the positions of all images.
struct ImagesPlan {
  double cost = std::numeric_limits<double>::infinity();
  Size images = 1, columns = 1;
  bool is_filters_wide = false;
};

/// Over small grids, whose taps see much padding, with the images side by side: without what sees
/// padding alone. The cost is in products of a vector and a weight; infinite where it cannot be
/// done, or would save little.
template <class T>
ImagesPlan plan_images(const Correlation<T>& correlation);
template <class T>
void correlate_by_images(const Correlation<T>& correlation, const ImagesPlan& plan, bool is_small);

/// Filters of 3x3 in steps of one by Winograd's F(2x2, 3x3), where that takes less, and less than
/// by images, and there is memory for it; whether it was done.
template <class T>
bool correlate_by_winograd(const Correlation<T>& correlation, double images_cost);

/// Groups of one plane, or few, each way; whether it was done.
template <class T>
bool correlate_thin(const Correlation<T>& correlation, bool is_small);
/// The same for the gradient of the filter.
template <class T>
bool thin_filter_gradient(const Conv2dRequest& request, MemoryPool& pool);

/// Filters of 3x3 with one channel each, over small planes of float32; whether it is that.
bool takes_planes(const Conv2dRequest& request);
void convolve_planes(std::string_view op, const Conv2dRequest& request, const float* weights,
                     const float* bias, MemoryPool& pool);

/// Filters with one channel each, over planes so small that these are best taken side by side;
/// whether it is that. The weights are none for the gradient of the filter.
bool takes_channels(const Conv2dRequest& request);
void convolve_channels(std::string_view op, const Conv2dRequest& request, const float* weights,
                       const float* bias, MemoryPool& pool);

/// An op of which few pairs of elements meet, each found by itself.
void sum_meetings(std::string_view op, const ConvSums& sums, MemoryPool& pool);

/// The elements as float32: the buffer's own, or a converted copy that `keep` then holds.
const float* as_float32(std::string_view op, const BufferRange& buffer, Size n, DType dtype,
                        MemoryPool& pool, AllocationRef& keep);

/// By panels: what some positions, of several images where these are small, see through all taps,
/// side by side, times the filters. The cost is in products of a vector and a weight, each with
/// what goes with it; infinite where it cannot be done.
template <class T>
double cost_by_panels(const Correlation<T>& correlation);
template <class T>
void correlate_by_panels(const Correlation<T>& correlation, bool is_small);

/// The same for the gradient of the filter.
template <class T>
double cost_of_filter_panels(const Conv2dRequest& request, const MemoryPool& pool);
template <class T>
void filter_gradient_by_panels(const Conv2dRequest& request, MemoryPool& pool);

/// What a way of `is_possible()` costs; infinite where it is not, or finds no room for its bytes.
double cost_in(const MemoryPool& pool, const auto& way) {
  constexpr double aside = 1 << 16;
  const bool fits =
      way.is_possible() && way.bytes() + aside <= static_cast<double>(pool.scratch_room());
  return fits ? way.cost() : std::numeric_limits<double>::infinity();
}

/// By windows: what each position sees, as one run of turned rows, times the gradients of outputs.
template <class T>
double cost_of_filter_windows(const Conv2dRequest& request, const MemoryPool& pool);
template <class T>
void filter_gradient_by_windows(const Conv2dRequest& request, MemoryPool& pool);

/// Tap by tap over small planes, without what sees padding alone, where that takes less than
/// another way does; whether it was done.
template <class T>
bool filter_gradient_by_taps(const Conv2dRequest& request, double other_cost, MemoryPool& pool);

extern template void end_sums(const float*, Activation, float, float*, Size);
extern template void end_sums(const Half*, Activation, float, float*, Size);
extern template void correlate(Correlation<float>);
extern template void correlate(Correlation<Half>);
extern template bool correlate_thin(const Correlation<float>&, bool);
extern template bool correlate_thin(const Correlation<Half>&, bool);
extern template bool thin_filter_gradient<float>(const Conv2dRequest&, MemoryPool&);
extern template bool thin_filter_gradient<Half>(const Conv2dRequest&, MemoryPool&);
extern template bool correlate_by_winograd(const Correlation<float>&, double);
extern template bool correlate_by_winograd(const Correlation<Half>&, double);
extern template double cost_by_panels(const Correlation<float>&);
extern template double cost_by_panels(const Correlation<Half>&);
extern template void correlate_by_panels(const Correlation<float>&, bool);
extern template void correlate_by_panels(const Correlation<Half>&, bool);
extern template ImagesPlan plan_images(const Correlation<float>&);
extern template ImagesPlan plan_images(const Correlation<Half>&);
extern template void correlate_by_images(const Correlation<float>&, const ImagesPlan&, bool);
extern template void correlate_by_images(const Correlation<Half>&, const ImagesPlan&, bool);
extern template double cost_of_filter_panels<float>(const Conv2dRequest&, const MemoryPool&);
extern template double cost_of_filter_panels<Half>(const Conv2dRequest&, const MemoryPool&);
extern template void filter_gradient_by_panels<float>(const Conv2dRequest&, MemoryPool&);
extern template void filter_gradient_by_panels<Half>(const Conv2dRequest&, MemoryPool&);
extern template double cost_of_filter_windows<float>(const Conv2dRequest&, const MemoryPool&);
extern template double cost_of_filter_windows<Half>(const Conv2dRequest&, const MemoryPool&);
extern template void filter_gradient_by_windows<float>(const Conv2dRequest&, MemoryPool&);
extern template void filter_gradient_by_windows<Half>(const Conv2dRequest&, MemoryPool&);
extern template bool filter_gradient_by_taps<float>(const Conv2dRequest&, double, MemoryPool&);
extern template bool filter_gradient_by_taps<Half>(const Conv2dRequest&, double, MemoryPool&);

}  // namespace tilewright::cpu
