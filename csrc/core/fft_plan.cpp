#include "tilewright/fft_plan.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/call.hpp"
#include "core/fft_axes.hpp"
#include "tilewright/error.hpp"

namespace tilewright {

namespace {

constexpr std::string_view op = "fft_plan";
using fft_axes::Around;
using fft_axes::Axis;
using fft_axes::Device;
using fft_axes::longest_step;
using fft_axes::Parts;
using fft_axes::takes_any;
using fft_axes::takes_steps;
using Value = Program::Value;

/// Both parts, or the imaginary one with the other sign.
Program copy_of(DType dtype, bool conjugates) {
  Program p;
  const Value re = p.input(dtype), im = p.input(dtype);
  p.output(re);
  p.output(conjugates ? p.apply("neg", {im}) : im);
  return p;
}
Program with_zero(DType dtype) {
  Program p;
  const Value re = p.input(dtype);
  p.output(re);
  p.output(p.constant(0.0, dtype));
  return p;
}
Program alone(DType dtype) {
  Program p;
  p.output(p.input(dtype));
  return p;
}
/// What the transform of half as many complex numbers has to do with that of real ones, of which
/// each two are one: a number of it, the one as far from the end, and the root between them.
Program halves(DType dtype, bool inverse) {
  Program p;
  const auto value = [&] { return p.input(dtype); };
  const Value ar = value(), ai = value(), br = value(), bi = value(), wr = value(), wi = value();
  const auto of = [&](std::string_view name, Value x, Value y) { return p.apply(name, {x, y}); };
  const Value even_re = of("add", ar, br), even_im = of("sub", ai, bi);
  const Value re = of("sub", ar, br), im = of("add", ai, bi);
  const std::string_view first = inverse ? "add" : "sub", second = inverse ? "sub" : "add";
  // By the root, or its conjugate.
  const Value odd_re = of(first, of("mul", re, wr), of("mul", im, wi));
  const Value odd_im = of(second, of("mul", im, wr), of("mul", re, wi));
  // By -i, or i.
  const Value one = of(second, even_re, odd_im), other = of(first, even_im, odd_re);
  if (inverse) {
    p.output(one);
    p.output(other);
  } else {
    const Value half = p.constant(0.5, dtype);
    p.output(of("mul", one, half));
    p.output(of("mul", other, half));
  }
  return p;
}
/// The sum and the difference of two, each with an imaginary part of 0 where that is asked.
Program ends(DType dtype, bool complex) {
  Program p;
  const Value a = p.input(dtype), b = p.input(dtype);
  p.output(p.apply("add", {a, b}));
  if (complex) p.output(p.constant(0.0, dtype));
  p.output(p.apply("sub", {a, b}));
  if (complex) p.output(p.constant(0.0, dtype));
  return p;
}
/// Rows of real numbers of an even length, as complex ones of half of it.
class HalvedRows {
 public:
  HalvedRows(Device& device, Size n)
      : half_(n / 2),
        roots_(device.table(text("half of roots ", n),
                            [&] {
                              fft_tables::Numbers roots;
                              for (Size i = 0; i < half_; ++i) {
                                roots.push_back(fft_tables::root(i, n));
                              }
                              return roots;
                            })),
        axis_(device, half_, true) {
    for (const bool inverse : {false, true}) {
      inner_[inverse] = halves(device.dtype(), inverse);
      ends_[inverse] = ends(device.dtype(), !inverse);
    }
  }

  void run(const Device& device, Buffer input, Buffer output, const Around& around) const {
    const OwnedBuffer between = device.room(around.outer * half_);
    if (around.inverse) {
      convert(device.be(), {input, half_ + 1}, {between, half_}, around);
      axis_.run(device, between, output, around);
    } else {
      axis_.run(device, input, between, around);
      convert(device.be(), {between, half_}, {output, half_ + 1}, around);
    }
  }

 private:
  struct Rows {
    Buffer buffer;
    Size length;
    Parts from(Size first, Size step = 1) const { return {buffer, length, 1, first, step}; }
  };

  void convert(Backend& be, const Rows& from, const Rows& to, const Around& around) const {
    const Parts first = from.from(0), out = to.from(0), out_last = to.from(half_);
    const std::array one{around.outer, Size{1}, Size{1}};
    if (around.inverse) {
      be.map(ends_[1], one, std::array{first.part(0), from.from(half_).part(0)}, {},
             std::array{out.part(0), out.part(1)});
    } else {
      be.map(ends_[0], one, std::array{first.part(0), first.part(1)}, {},
             std::array{out.part(0), out.part(1), out_last.part(0), out_last.part(1)});
    }
    if (half_ == 1) return;
    const Parts a = from.from(1), b = from.from(half_ - 1, -1), w = Parts::table(roots_, 1);
    const Parts inner = to.from(1);
    be.map(inner_[around.inverse], std::array{around.outer, half_ - 1, Size{1}},
           std::array{a.part(0), a.part(1), b.part(0), b.part(1), w.part(0), w.part(1)}, {},
           std::array{inner.part(0), inner.part(1)});
  }

  Size half_;
  Buffer roots_;
  Axis axis_;
  std::array<Program, 2> inner_, ends_;
};

/// Of an odd length, as complex ones.
class WidenedRows {
 public:
  WidenedRows(Device& device, Size n)
      : n_(n),
        half_(n / 2 + 1),
        axis_(device, n, true),
        widen_(with_zero(device.dtype())),
        narrow_(alone(device.dtype())),
        copy_(copy_of(device.dtype(), false)),
        mirror_(copy_of(device.dtype(), true)) {}

  void run(const Device& device, Buffer input, Buffer output, const Around& around) const {
    Backend& be = device.be();
    const Size rows = around.outer;
    const OwnedBuffer one = device.room(rows * n_), other = device.room(rows * n_);
    const Parts from(one, n_, 1), to(other, n_, 1);
    if (around.inverse) {
      const Parts given(input, half_, 1);
      be.map(widen_, std::array{rows, Size{1}, Size{1}}, std::array{given.part(0)}, {},
             std::array{from.part(0), from.part(1)});
      copy(be, copy_, rows, Parts(input, half_, 1, 1), Parts(one, n_, 1, 1));
      copy(be, mirror_, rows, Parts(input, half_, 1, half_ - 1, -1), Parts(one, n_, 1, half_));
      axis_.run(device, one, other, around);
      be.map(narrow_, std::array{rows, n_, Size{1}}, std::array{to.part(0)}, {},
             std::array{reals(output)});
    } else {
      be.map(widen_, std::array{rows, n_, Size{1}}, std::array{reals(input)}, {},
             std::array{from.part(0), from.part(1)});
      axis_.run(device, one, other, around);
      const Parts out(output, half_, 1);
      be.map(copy_, std::array{rows, half_, Size{1}}, std::array{to.part(0), to.part(1)}, {},
             std::array{out.part(0), out.part(1)});
    }
  }

 private:
  /// All but the first of a half.
  void copy(Backend& be, const Program& program, Size rows, const Parts& from,
            const Parts& to) const {
    be.map(program, std::array{rows, half_ - 1, Size{1}}, std::array{from.part(0), from.part(1)},
           {}, std::array{to.part(0), to.part(1)});
  }
  static MapOperand reals(Buffer buffer) { return {buffer}; }

  Size n_, half_;
  Axis axis_;
  Program widen_, narrow_, copy_, mirror_;
};

/// Rows of real numbers: by the trait's fft_real where it takes their length.
class RealRows {
 public:
  RealRows(Device& device, Size n) : n_(n) {
    const bool is_even = n % 2 == 0;
    const Size length = is_even ? n / 2 : n;
    if (takes_steps(device.be(), n) ? length <= longest(device, length, is_even)
                                    : takes_any(device.be())) {
      roots_ = device.roots(n, true);
    } else if (is_even) {
      halved_.emplace(device, n);
    } else {
      widened_.emplace(device, n);
    }
  }

  void run(const Device& device, Buffer input, Buffer output, const Around& around) const {
    if (halved_) return halved_->run(device, input, output, around);
    if (widened_) return widened_->run(device, input, output, around);
    device.be().fft_real(input, roots_, output, around.outer, n_, around.inverse, around.scale,
                         device.dtype());
  }

 private:
  /// The longest complex rows of one step, or what the cpu backend takes apart itself.
  static Size longest(const Device& device, Size length, bool is_even) {
    constexpr Size apart_on_cpu = 1 << 20;
    const bool is_apart = is_even && device.be().name() == "cpu";
    return is_apart ? apart_on_cpu : longest_step(device.be(), device.dtype(), length, true);
  }

  Size n_;
  Buffer roots_ = Buffer::null;
  std::optional<HalvedRows> halved_;
  std::optional<WidenedRows> widened_;
};

}  // namespace

namespace {
void check_length(std::string_view call, Size n) {
  constexpr Size most = Size{1} << 40;
  if (n < 1 || n > most) {
    throw InvalidArgument(text(call, ": n is ", n, ", expected 1 to ", most));
  }
}
}  // namespace

std::vector<std::complex<double>> fft_roots(Size n, bool real) {
  check_length("fft_roots", n);
  return fft_tables::roots(n, real);
}

Size optimal_fft_size(Size n) {
  check_length("optimal_fft_size", n);
  Size best = 1;
  while (best < n) best *= 2;
  for (Size sevens = 1; sevens < best; sevens *= 7) {
    for (Size fives = sevens; fives < best; fives *= 5) {
      for (Size threes = fives; threes < best; threes *= 3) {
        Size one = threes;
        while (one < n) one *= 2;
        best = std::min(best, one);
      }
    }
  }
  return best;
}

struct FftPlan::Data {
  Data(const std::shared_ptr<Backend>& of, std::span<const Size> lengths, Size count, FftKind kind,
       DType dtype)
      : backend(of), device(of, dtype), batch(count), shape(lengths.begin(), lengths.end()) {
    if (kind == FftKind::real) real.emplace(device, shape.back());
    Size inner = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const bool is_last = i + 1 == shape.size();
      const Size n = shape[i];
      if (n > 1 && !(is_last && real)) axes.push_back({i, inner, Axis(device, n, inner == 1)});
      inner *= is_last && real ? n / 2 + 1 : n;
    }
    // Of a shape of ones, which are as they are but for the scale.
    if (axes.empty() && !real) axes.push_back({shape.size() - 1, 1, Axis(device, 1, true)});
    transform_numbers = batch * inner;
  }

  /// Complex transforms along all axes but the last one of real arrays.
  void run_axes(Buffer input, Buffer output, bool inverse, double scale) const {
    OwnedBuffer between[2];
    Buffer now = input;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const AlongAxis& along = axes[i];
      const bool is_last = i + 1 == axes.size();
      Buffer to = output;
      if (!is_last) {
        if (!between[i % 2]) between[i % 2] = device.room(transform_numbers);
        to = between[i % 2];
      }
      const Size outer = transform_numbers / (shape[along.at] * along.inner);
      along.axis.run(device, now, to, {outer, along.inner, inverse, is_last ? scale : 1});
      now = to;
    }
  }

  struct AlongAxis {
    std::size_t at;
    Size inner;
    Axis axis;
  };

  std::shared_ptr<Backend> backend;
  Device device;
  Size batch;
  std::vector<Size> shape;
  std::optional<RealRows> real;
  std::vector<AlongAxis> axes;
  Size transform_numbers = 0;
  Size input_elements = 0;
};

FftPlan::FftPlan() noexcept = default;
FftPlan::~FftPlan() = default;
FftPlan::FftPlan(FftPlan&& other) noexcept = default;
FftPlan& FftPlan::operator=(FftPlan&& other) noexcept = default;

FftPlan::FftPlan(std::shared_ptr<Backend> backend, std::span<const Size> shape, Size batch,
                 FftKind kind, DType dtype) {
  if (!backend) throw InvalidArgument(text(op, ": backend is null, expected a backend"));
  Size elements = 0;
  {
    const Call call(*backend->state_, op, RunAtOnce());
    call.known("kind", kind);
    check_fft_numbers(call, 1, dtype);
    constexpr std::size_t most_axes = 8;
    constexpr Size longest = Size{1} << 30;
    if (shape.empty() || shape.size() > most_axes) {
      call.invalid(text("shape has ", shape.size(), " lengths, expected 1 to ", most_axes));
    }
    call.not_negative("batch", batch);
    elements = call.mul(2, batch);
    for (const Size n : shape) {
      if (n < 1 || n > longest) {
        call.invalid(text("shape has the length ", n, ", expected 1 to ", longest));
      }
      elements = call.mul(elements, n);
    }
    // Room for what a convolution is filled up to.
    call.mul(elements, 8 * static_cast<Size>(size_of(dtype)));
  }
  if (!backend->supports("fft", dtype)) {
    throw Unsupported(text(op, ": ", backend->device().name, " has no ", to_string(dtype),
                           " in kernels; plan float32, or use the cpu backend"));
  }
  auto data = std::make_unique<Data>(backend, shape, batch, kind, dtype);
  data->input_elements = kind == FftKind::real ? elements / 2 : elements;
  data_ = std::move(data);
}

const std::shared_ptr<Backend>& FftPlan::backend() const noexcept {
  static const std::shared_ptr<Backend> none;
  return data_ ? data_->backend : none;
}
Size FftPlan::input_size() const noexcept { return data_ ? data_->input_elements : 0; }
Size FftPlan::transform_size() const noexcept { return data_ ? 2 * data_->transform_numbers : 0; }
Size FftPlan::table_bytes() const noexcept { return data_ ? data_->device.table_bytes() : 0; }

void FftPlan::run(Buffer input, Buffer output, bool inverse, double scale) const {
  if (!data_) throw InvalidArgument(text(op, ": the plan is of nothing; make one of a backend"));
  const Data& plan = *data_;
  const DType dtype = plan.device.dtype();
  {
    const Call call(*plan.backend->state_, op);
    check_fft_numbers(call, scale, dtype);
    const BufferRange from =
        call.buffer("input", input, inverse ? transform_size() : input_size(), dtype);
    const BufferRange to =
        call.buffer("output", output, inverse ? input_size() : transform_size(), dtype);
    call.apart("output", to, "input", from);
  }
  if (plan.batch == 0) return;
  if (!plan.real) return plan.run_axes(input, output, inverse, scale);
  const Size rows = plan.transform_numbers / (plan.shape.back() / 2 + 1);
  if (plan.axes.empty()) {
    return plan.real->run(plan.device, input, output, {rows, 1, inverse, scale});
  }
  const OwnedBuffer halves = plan.device.room(plan.transform_numbers);
  if (inverse) {
    plan.run_axes(input, halves, true, 1);
    plan.real->run(plan.device, halves, output, {rows, 1, true, scale});
  } else {
    plan.real->run(plan.device, input, halves, {rows, 1, false, 1});
    plan.run_axes(halves, output, false, scale);
  }
}

}  // namespace tilewright
