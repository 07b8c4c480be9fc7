#pragma once

#include <array>
#include <utility>
#include <vector>

#include "core/requests.hpp"
#include "tilewright/types.hpp"

// Which elements of a convolution's operands meet, axis by axis, whatever its stride, padding and
// dilation are.
namespace tilewright {

/// Through a tap, an output sees the input at output * stride + tap * dilation - pad, or padding.
struct SlidingAxis {
  Size input, filter, output, stride, pad, dilation;
};

/// Of the rows and of the columns.
std::array<SlidingAxis, 2> axes_of(const Conv2dRequest& request);

/// Pairs of an output and a tap through which it sees the input.
Size visible_pairs(const SlidingAxis& axis);

/// The products that add up to one element of a result, along one axis: those of the elements
/// first.a + k * step.a and first.b + k * step.b of its operands a and b, for k < count. These are
/// the input and the filter for the outputs, the gradient of the output and the filter for the
/// inputs, the input and the gradient of the output for the taps.
struct Meeting {
  Size a, b, count;
};
struct Meetings {
  std::vector<Meeting> of;  ///< each element of the result
  Size a_step, b_step;      ///< 0 where no element has two
};
Meetings meetings(const SlidingAxis& axis, ConvOp op);

/// Whether a backend that walks `pairs` of elements of its operands for each plane should take
/// meetings() instead: almost all would meet padding, or the numbers that place them do not fit in
/// 32 bits. Elsewhere all sums and products of an axis's positions do.
bool takes_meetings(const Conv2dRequest& request, double pairs);

/// An op as sums over meetings: an element of a plane of the result is, over `depth` pairs of
/// planes of a and b, the sum over the meetings of its row and of its column.
struct ConvSums {
  struct Operand {
    BufferRange buffer;
    Size planes, height, width;
    /// The first plane for a plane of the result is these by its digits and its group.
    Size major, minor, group;
    Size step;  ///< from each plane to the next

    Size elements() const { return planes * height * width; }
  };
  Operand a, b;
  BufferRange result, bias;      ///< bias, of each minor digit, may be null
  BufferRange addend;            ///< may be null; added to the sums
  Size planes, minors;           ///< of the result, and values of a plane's lower digit
  Size planes_of_group, groups;  ///< the groups of planes follow each other, again and again
  Size depth;
  Meetings rows, columns;
  DType dtype;
  Activation activation = Activation::none;
  float slope = 0;

  Size height() const { return static_cast<Size>(rows.of.size()); }
  Size width() const { return static_cast<Size>(columns.of.size()); }
  Size first_plane(const Operand& operand, Size plane) const {
    return plane / minors * operand.major + plane % minors * operand.minor +
           plane / planes_of_group % groups * operand.group;
  }
};
ConvSums sums_of(const Conv2dRequest& request);

/// Finds taps by where they fall between two outputs.
class TapFinder {
 public:
  explicit TapFinder(const SlidingAxis& axis);

  /// Through this tap, and then every period()-th, is `position` seen, which counts the padding;
  /// -1 where through none.
  Size first_tap(Size position) const;
  Size period() const { return period_; }
  /// Outputs between those that see a position through neighbours of these taps.
  Size output_step() const { return output_step_; }

 private:
  Size stride_, period_, output_step_;
  std::vector<std::pair<Size, Size>> taps_;  // by tap * dilation % stride
};

}  // namespace tilewright
