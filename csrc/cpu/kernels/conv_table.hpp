#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::cpu {

/// Products of a tile of 2x2 outputs in Winograd's F(2x2, 3x3): one for each pair of factors, of
/// the 4x4 that a patch of 4x4 inputs has and of those of a filter's 3x3 taps.
inline constexpr std::size_t winograd_factors = 16;
/// Filters whose factors lie side by side, and those of them that are multiplied at a time.
inline constexpr std::size_t winograd_group = 16, winograd_together = 8;

/// A line of tiles of a channel: four rows, from the first tile's first column on. Their elements
/// are those of columns `first` to `first` + 2 * count + 2 of a row of `width`, and 0 for columns
/// that it has not. Whole vectors are read: up to `first` + read_by(count).
struct WinogradPatches {
  const float* rows[4];
  std::ptrdiff_t first, width;
  std::size_t count;
  std::ptrdiff_t ahead;  ///< so many elements on are the rows that are wanted next
};

/// The products of a line of tiles with a filter, `stride` between the factors, and what they come
/// to: rows[1] may be null. Whole vectors of tiles are read.
struct WinogradOutputs {
  const float* products;
  std::size_t stride;
  std::size_t columns;  ///< of the rows
  float start;
  bool is_clamped;
  float low, high;
  float* rows[2];
};

/// Rows of planes: row r takes elements of the source from `from` + r * source_row on, of which
/// those from `begin` to `end` are there. The others are 0.
struct PlaneRows {
  std::ptrdiff_t from, begin, end;
  std::size_t at, left;  ///< in a phase's plane: where the first is, and what is left from there on
  std::size_t count;
};

/// Channels' planes: to[c * stride + phase * phase_stride + at + i] is what the row has at
/// phase + i * step, for i < width. With more phases than one there are as many as steps or fewer.
struct PlaneFill {
  const float* source;
  std::size_t channels, source_stride, source_row;
  const PlaneRows* rows;  ///< one behind the other
  std::size_t count;
  std::size_t step, phases;
  float* to;
  std::size_t stride, phase_stride, width;
};

/// Neighbours in a row of planes, and where a row of a panel takes them.
struct PanelRun {
  std::int32_t from, at;
};

/// Rows of a panel, `width` apart, for each channel and tap what the runs see through it.
struct RunCopies {
  const float* planes;
  std::size_t channels, channel_stride;
  const std::ptrdiff_t* taps;  ///< where each looks, from a run's own place
  std::size_t tap_count;
  const PanelRun* runs;
  std::size_t run_count;
  std::size_t length;  ///< of what is copied of each run: 4, 8 or 16, where later ones begin
  std::size_t width;
};

/// A plane by a filter of 3x3, in steps of one or two both ways. Whole vectors are
/// read: from pad_columns elements in front of the plane on, and so many more behind its last row.
struct PlaneConv {
  const float* input;
  std::ptrdiff_t height, width, out_height, out_width;
  std::ptrdiff_t pad_rows, pad_columns;
  std::size_t stride;
  const float* weights;
  float start;
  bool is_clamped;
  float low, high;
  float* output;
  std::ptrdiff_t ahead;  ///< so many elements on is the plane that is wanted next
};

/// Rows of a filter that see neighbouring rows of a plane, `most_thin_rows` at most: the first one
/// from `from` on.
struct ThinRows {
  std::ptrdiff_t from;
  std::size_t count;
};
inline constexpr std::size_t most_thin_rows = 7;

/// The taps of a filter over one plane whose rows are `width` long: all pairs of rows and columns.
/// Their weights follow each other by groups of rows, columns, and rows of the group.
struct ThinTaps {
  std::ptrdiff_t width;
  const ThinRows* rows;
  std::size_t row_count;
  const std::ptrdiff_t* columns;  ///< where each looks
  std::size_t column_count;
};

/// output[y][x] = start, or what is there, + the sum over taps of weights and
/// input[y * width + x + tap]. Whole vectors are read, and written but at the end of a row that
/// `is_whole`, where nothing is written beyond the columns.
struct ThinProduct {
  const ThinTaps* taps;
  const float *input, *weights;
  float start;
  bool adds;
  float* output;
  std::size_t output_stride, rows, columns;
  bool is_whole;
};

/// Adds to a vector of sums for each tap, in the order of weights, what all its elements together
/// have more then: the sum over y and x of gradient[y][x] * input[y * width + x + tap]. Whole
/// vectors are read, of which the gradient is 0 beyond the columns.
struct ThinDots {
  const ThinTaps* taps;
  const float *input, *gradient;
  std::size_t gradient_stride, rows, columns;
  float* sums;
};

/// Along one axis of a result, what meets of a and b: elements a + k * a_step and b + k * b_step,
/// for k < count.
struct LaneMeeting {
  std::ptrdiff_t a, b;
  std::size_t count;
};
struct LaneMeetings {
  const LaneMeeting* of;
  std::size_t count;
  std::ptrdiff_t a_step, b_step;
};

/// As many planes as a vector has lanes, side by side: to[y][x] = start, or what is there where
/// that is null, + the sum over the meetings of row y and column x of products of a and b.
struct LaneSums {
  const float *a, *b;
  std::ptrdiff_t a_width, b_width;
  LaneMeetings rows, columns;
  const float* start;
  float* to;
};

struct ConvTable {
  void (*lane_sums)(const LaneSums& sums);
  void (*thin_product)(const ThinProduct& product);
  void (*thin_dots)(const ThinDots& dots);
  void (*weigh_plane)(const PlaneConv& plane);
  void (*fill_planes)(const PlaneFill& fill);
  /// Runs and rows are copied one after another, each into what is copied later.
  void (*copy_runs)(const RunCopies& copies, float* to);
  /// factors[t * stride + c * winograd_group + f] of so many channels' taps
  /// [c * 9 + places[r * 3 + s]][f], f < winograd_group.
  void (*filter_factors)(const float* taps, const unsigned char* places, std::size_t channels,
                         float* factors, std::size_t stride);
  /// factors[t * stride + i] of tile i < count.
  void (*input_factors)(const WinogradPatches& patches, float* factors, std::size_t stride);
  /// output[x * winograd_group + f] = the sum over channels of input[c * count + x] and filter
  /// factor [c][f]: of a few tiles that fill no vector.
  void (*few_products)(const float* input, std::size_t count, const float* filter,
                       std::size_t channels, float* output);
  /// Whether all that is stored was finite before it was clamped.
  bool (*outputs)(const WinogradOutputs& outputs);
};

/// The table for usable_isa().
const ConvTable& conv_table();

}  // namespace tilewright::cpu
