#include "core/convolution.hpp"

#include <algorithm>
#include <numeric>

namespace tilewright {

namespace {

/// The largest extent, padding counted, whose positions backends that walk it take: three of them
/// still add up in 32 bits.
constexpr Size most_extent = Size{1} << 30;
/// So many pairs for each that meets are worth it, since they are walked without a look.
constexpr double most_waste = 64;

struct Run {
  Size first, count;
};

/// The k in [0, count) whose base + k * step lies in [0, size).
Run inside(Size base, Size step, Size count, Size size) {
  const Size first = base >= 0 ? 0 : (-base - 1) / step + 1;
  const Size end = base >= size ? 0 : std::min(count, (size - 1 - base) / step + 1);
  return {first, std::max<Size>(end - first, 0)};
}

/// What is seen of the input by `fixed` steps and some of `count` others.
Meeting seen(const SlidingAxis& axis, Size fixed, Size step, Size count) {
  const Size base = fixed - axis.pad;
  const Run run = inside(base, step, count, axis.input);
  return {run.count == 0 ? 0 : base + run.first * step, run.first, run.count};
}

Meeting of_output(const SlidingAxis& axis, Size output) {
  return seen(axis, output * axis.stride, axis.dilation, axis.filter);
}

Meeting of_tap(const SlidingAxis& axis, Size tap) {
  return seen(axis, tap * axis.dilation, axis.stride, axis.output);
}

Meeting of_input(const SlidingAxis& axis, const TapFinder& finder, Size input) {
  const Size position = input + axis.pad, tap = finder.first_tap(position);
  if (tap < 0) return {0, 0, 0};
  const Size taps = (axis.filter - 1 - tap) / finder.period() + 1;
  // Each of these taps is one step of outputs further back.
  const Size last = (position - tap * axis.dilation) / axis.stride, step = finder.output_step();
  const Size first = last < axis.output ? 0 : (last - axis.output) / step + 1;
  const Size count = std::min(taps, last < 0 ? 0 : last / step + 1) - first;
  if (count <= 0) return {0, 0, 0};
  return {last - first * step, tap + first * finder.period(), count};
}

}  // namespace

std::array<SlidingAxis, 2> axes_of(const Conv2dRequest& r) {
  return {{{r.height, r.filter_height, r.out_height, r.stride[0], r.pad[0], r.dilation[0]},
           {r.width, r.filter_width, r.out_width, r.stride[1], r.pad[1], r.dilation[1]}}};
}

Size visible_pairs(const SlidingAxis& axis) {
  if (axis.pad == 0) return axis.output * axis.filter;
  Size pairs = 0;
  if (axis.filter <= axis.output) {
    for (Size tap = 0; tap < axis.filter; ++tap) pairs += of_tap(axis, tap).count;
  } else {
    for (Size output = 0; output < axis.output; ++output) pairs += of_output(axis, output).count;
  }
  return pairs;
}

Meetings meetings(const SlidingAxis& axis, ConvOp op) {
  Meetings all{{}, axis.dilation, 1};
  if (op == ConvOp::forward) {
    for (Size i = 0; i < axis.output; ++i) all.of.push_back(of_output(axis, i));
  } else if (op == ConvOp::backward_filter) {
    all.a_step = axis.stride;
    for (Size i = 0; i < axis.filter; ++i) all.of.push_back(of_tap(axis, i));
  } else {
    const TapFinder finder(axis);
    all.a_step = -finder.output_step();
    all.b_step = finder.period();
    for (Size i = 0; i < axis.input; ++i) all.of.push_back(of_input(axis, finder, i));
  }
  const auto steps = [](const Meeting& meeting) { return meeting.count > 1; };
  if (std::none_of(all.of.begin(), all.of.end(), steps)) all.a_step = all.b_step = 0;
  return all;
}

bool takes_meetings(const Conv2dRequest& request, double pairs) {
  double meeting = 1;
  for (const SlidingAxis& axis : axes_of(request)) {
    if (axis.input > most_extent || axis.pad > (most_extent - axis.input) / 2) return true;
    meeting *= static_cast<double>(visible_pairs(axis));
  }
  return pairs > most_waste * meeting;
}

ConvSums sums_of(const Conv2dRequest& r) {
  const auto axes = axes_of(r);
  const Size channels = r.channels / r.groups, filters = r.filters / r.groups;
  const ConvSums::Operand input{r.input, r.batch * r.channels, r.height, r.width, 0, 0, 0, 1};
  const ConvSums::Operand filter{
      r.filter, r.filters * channels, r.filter_height, r.filter_width, 0, 0, 0, 1};
  const ConvSums::Operand output{r.output, r.batch * r.filters, r.out_height, r.out_width, 0, 0, 0,
                                 1};
  ConvSums s;
  s.groups = r.groups;
  s.dtype = r.dtype;
  s.rows = meetings(axes[0], r.op);
  s.columns = meetings(axes[1], r.op);
  if (r.op == ConvOp::forward) {
    s.a = input;
    s.a.major = r.channels;
    s.a.group = channels;
    s.b = filter;
    s.b.minor = channels;
    s.result = r.output;
    s.bias = r.bias;
    s.addend = r.addend;
    s.activation = r.activation;
    s.slope = r.slope;
    s.planes = output.planes;
    s.minors = r.filters;
    s.planes_of_group = filters;
    s.depth = channels;
  } else if (r.op == ConvOp::backward_data) {
    s.a = output;
    s.a.major = r.filters;
    s.a.group = filters;
    s.b = filter;
    s.b.minor = 1;
    s.b.group = (filters - 1) * channels;
    s.b.step = channels;
    s.result = r.input;
    s.planes = input.planes;
    s.minors = r.channels;
    s.planes_of_group = channels;
    s.depth = filters;
  } else {
    s.a = input;
    s.a.minor = 1;
    s.a.group = channels;
    s.a.step = r.channels;
    s.b = output;
    s.b.major = 1;
    s.b.step = r.filters;
    s.result = r.filter;
    s.planes = filter.planes;
    s.minors = channels;
    s.planes_of_group = filters * channels;
    s.depth = r.batch;
  }
  return s;
}

TapFinder::TapFinder(const SlidingAxis& axis)
    : stride_(axis.stride),
      period_(axis.stride / std::gcd(axis.stride, axis.dilation)),
      output_step_(axis.dilation / std::gcd(axis.stride, axis.dilation)) {
  const Size count = std::min(axis.filter, period_);
  taps_.reserve(static_cast<std::size_t>(count));
  for (Size tap = 0; tap < count; ++tap) taps_.emplace_back(tap * axis.dilation % stride_, tap);
  std::sort(taps_.begin(), taps_.end());
}

Size TapFinder::first_tap(Size position) const {
  const std::pair<Size, Size> wanted{position % stride_, 0};
  const auto found = std::lower_bound(taps_.begin(), taps_.end(), wanted);
  return found != taps_.end() && found->first == wanted.first ? found->second : -1;
}

}  // namespace tilewright
