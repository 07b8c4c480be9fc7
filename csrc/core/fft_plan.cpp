#include "tilewright/fft_plan.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/call.hpp"
#include "core/fft_tables.hpp"
#include "core/ops/fft.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"
#include "tilewright/owned_buffer.hpp"
#include "tilewright/program.hpp"

namespace tilewright {

namespace {

constexpr std::string_view op = "fft_plan";
constexpr std::array<Size, 4> quick_primes{2, 3, 5, 7};

bool takes_steps(Size n) { return fft_tables::without(n, fft_primes) == 1; }

/// What one step takes, of rows or along another axis.
Size longest_step(Backend& be, DType dtype, bool is_row) {
  constexpr Size on_cpu = 1 << 14, across_on_cpu = 1 << 12, across = 256, any_gpu = 512;
  if (be.name() == "cpu") return is_row ? on_cpu : across_on_cpu;
  if (!is_row) return across;
  if (be.name() == "level-zero") return any_gpu;
  const auto limits = be.capabilities().limits;
  const auto found = limits.find("max_workgroup_memory_bytes");
  if (found == limits.end()) return any_gpu;
  const auto held = static_cast<Size>(found->second / (2 * size_of(dtype)));
  return std::min(Size{4096}, (held - 1) * 16 / 17);
}

/// The parts of complex numbers, as operands of programs: [outer, count, inner] from number `first`
/// of the axis on, of which the buffer has `length`; steps of -1 go backwards, of 0 repeat one.
class Parts {
 public:
  Parts(Buffer buffer, Size length, Size inner, Size first = 0, Size step = 1)
      : buffer_(buffer),
        strides_{2 * length * inner, 2 * inner * step, 2},
        offset_(2 * inner * first) {}
  /// A table along the axis, the same for all of outer and inner.
  static Parts table(Buffer buffer) {
    Parts parts(buffer, 0, 1);
    parts.strides_ = {0, 2, 0};
    return parts;
  }
  MapOperand part(Size which) const { return {buffer_, strides_, offset_ + which}; }

 private:
  Buffer buffer_;
  std::array<Size, 3> strides_;
  Size offset_;
};

/// Real numbers in the same way, in rows of `length`.
class Reals {
 public:
  Reals(Buffer buffer, Size length) : buffer_(buffer), strides_{length, 1, 1} {}
  MapOperand operand() const { return {buffer_, strides_, 0}; }

 private:
  Buffer buffer_;
  std::array<Size, 3> strides_;
};

using Value = Program::Value;

/// a b of complex numbers, of whose parts the imaginary ones of a, and of what comes out, get a
/// sign of their own.
Program product(DType dtype, bool conjugates_input, bool conjugates_output, bool scaled) {
  Program p;
  const Value ar = p.input(dtype);
  Value ai = p.input(dtype);
  const Value br = p.input(dtype), bi = p.input(dtype);
  if (conjugates_input) ai = p.apply("neg", {ai});
  Value re = p.apply("sub", {p.apply("mul", {ar, br}), p.apply("mul", {ai, bi})});
  Value im = p.apply("add", {p.apply("mul", {ar, bi}), p.apply("mul", {ai, br})});
  if (conjugates_output) im = p.apply("neg", {im});
  if (scaled) {
    const Value scale = p.number(dtype);
    re = p.apply("mul", {re, scale});
    im = p.apply("mul", {im, scale});
  }
  p.output(re);
  p.output(im);
  return p;
}

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
Program zeros(DType dtype, int outputs) {
  Program p;
  for (int i = 0; i < outputs; ++i) p.output(p.constant(0.0, dtype));
  return p;
}

/// Around an axis: how many arrays of it there are, and how many numbers lie between its own.
struct Around {
  Size outer, inner;
  bool inverse;
  double scale;
};

/// What plans run on: one backend and dtype, and the tables that axes share.
class Device {
 public:
  Device(const std::shared_ptr<Backend>& backend, DType dtype) : backend_(backend), dtype_(dtype) {}

  Backend& be() const { return *backend_; }
  DType dtype() const { return dtype_; }
  Size table_bytes() const { return table_bytes_; }
  Size bytes_of(Size numbers) const { return numbers * 2 * static_cast<Size>(size_of(dtype_)); }
  OwnedBuffer room(Size numbers) const { return {backend_, bytes_of(numbers)}; }

  /// A table on the device, kept under its key.
  Buffer table(const std::string& key, const std::function<fft_tables::Numbers()>& make) {
    const auto found = tables_.find(key);
    if (found != tables_.end()) return found->second;
    const fft_tables::Numbers host = make();
    OwnedBuffer table = room(std::ssize(host));
    if (dtype_ == DType::float64) {
      be().copy_htod(table, std::as_bytes(std::span(host)));
    } else {
      std::vector<std::complex<float>> narrow(host.begin(), host.end());
      be().copy_htod(table, std::as_bytes(std::span(narrow)));
    }
    table_bytes_ += table.bytes();
    return tables_.emplace(key, std::move(table)).first->second;
  }
  Buffer roots(Size n) {
    return table(text("roots ", n), [&] { return fft_tables::roots(n); });
  }

 private:
  std::shared_ptr<Backend> backend_;
  DType dtype_;
  Size table_bytes_ = 0;
  std::map<std::string, OwnedBuffer> tables_;
};

/// Complex transforms along one axis of a length of small factors.
class Steps {
 public:
  Steps(Device& device, Size n, bool is_row) : n_(n) {
    Size rest = n;
    for (const Size size :
         fft_tables::steps(n, longest_step(device.be(), device.dtype(), is_row))) {
      const Size whole = std::exchange(rest, rest / size);
      std::optional<Buffer> turns;
      if (rest > 1) {
        turns = device.table(text("turns ", whole), [&] { return fft_tables::turns(whole); });
      }
      steps_.push_back({size, rest, device.roots(size), turns});
    }
  }

  void run(const Device& device, Buffer input, Buffer output, const Around& around) const {
    const Size numbers = around.outer * n_ * around.inner;
    OwnedBuffer between[2];
    Size done = around.inner;
    Buffer now = input;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const bool is_last = i + 1 == steps_.size();
      Buffer to = output;
      if (!is_last) {
        if (!between[i % 2]) between[i % 2] = device.room(numbers);
        to = between[i % 2];
      }
      device.be().fft(now, step.roots, to, around.outer, step.n, step.middle, done, around.inverse,
                      is_last ? around.scale : 1, step.turns, device.dtype());
      now = to;
      done *= step.n;
    }
  }

 private:
  struct Step {
    Size n, middle;
    Buffer roots;
    std::optional<Buffer> turns;
  };
  Size n_;
  std::vector<Step> steps_;
};

/// Bluestein's: any length as a convolution with a chirp.
class Chirp {
 public:
  Chirp(Device& device, Size n, bool is_row)
      : n_(n),
        longer_(optimal_fft_size(2 * n - 1)),
        chirp_(device.table(text("chirp ", n), [&] { return fft_tables::chirp(n); })),
        answer_(
            device.table(text("answer ", n), [&] { return fft_tables::chirp_answer(n, longer_); })),
        steps_(device, longer_, is_row) {
    for (const bool inverse : {false, true}) {
      before_[inverse] = product(device.dtype(), inverse, false, false);
      behind_[inverse] = product(device.dtype(), false, inverse, true);
    }
    times_ = product(device.dtype(), false, false, false);
    zeros_ = zeros(device.dtype(), 2);
  }

  void run(const Device& device, Buffer input, Buffer output, const Around& around) const {
    Backend& be = device.be();
    const Size outer = around.outer, inner = around.inner;
    const OwnedBuffer one = device.room(outer * longer_ * inner);
    const OwnedBuffer other = device.room(outer * longer_ * inner);
    // The inverse of a row is the conjugate of its conjugate's transform.
    const Parts filled(one, longer_, inner), rest(one, longer_, inner, n_);
    multiply(be, before_[around.inverse], {outer, n_, inner}, Parts(input, n_, inner),
             Parts::table(chirp_), filled);
    const std::array<MapOperand, 2> empty{rest.part(0), rest.part(1)};
    be.map(zeros_, std::array{outer, longer_ - n_, inner}, {}, {}, empty);
    steps_.run(device, one, other, {outer, inner, false, 1});
    const Parts there(other, longer_, inner);
    multiply(be, times_, {outer, longer_, inner}, there, Parts::table(answer_), there);
    steps_.run(device, other, one, {outer, inner, true, 1});
    multiply(be, behind_[around.inverse], {outer, n_, inner}, filled, Parts::table(chirp_),
             Parts(output, n_, inner), around.scale);
  }

 private:
  static void multiply(Backend& be, const Program& program, const std::array<Size, 3>& shape,
                       const Parts& a, const Parts& b, const Parts& to,
                       std::optional<double> scale = std::nullopt) {
    const std::array inputs{a.part(0), a.part(1), b.part(0), b.part(1)};
    const std::array outputs{to.part(0), to.part(1)};
    std::vector<Number> numbers;
    if (scale) numbers.emplace_back(*scale);
    be.map(program, shape, inputs, numbers, outputs);
  }

  Size n_, longer_;
  Buffer chirp_, answer_;
  Steps steps_;
  std::array<Program, 2> before_, behind_;
  Program times_, zeros_;
};

/// Complex transforms along one axis.
class Axis {
 public:
  Axis(Device& device, Size n, bool is_row) {
    if (takes_steps(n)) {
      steps_.emplace(device, n, is_row);
    } else {
      chirp_.emplace(device, n, is_row);
    }
  }
  void run(const Device& device, Buffer input, Buffer output, const Around& around) const {
    steps_ ? steps_->run(device, input, output, around)
           : chirp_->run(device, input, output, around);
  }

 private:
  std::optional<Steps> steps_;
  std::optional<Chirp> chirp_;
};

/// Rows of real numbers: by the trait's fft_real, or as complex ones.
class RealRows {
 public:
  RealRows(Device& device, Size n) : n_(n), half_(n / 2 + 1) {
    const Size length = n % 2 == 0 ? n / 2 : n;
    if (takes_steps(n) && length <= longest_step(device.be(), device.dtype(), true)) {
      roots_ = device.roots(n);
      return;
    }
    whole_.emplace(device, n, true);
    const DType dtype = device.dtype();
    widen_ = with_zero(dtype);
    narrow_ = alone(dtype);
    copy_ = copy_of(dtype, false);
    mirror_ = copy_of(dtype, true);
    zero_ = zeros(dtype, 1);
  }

  void run(const Device& device, Buffer input, Buffer output, Size rows, bool inverse,
           double scale) const {
    Backend& be = device.be();
    if (!whole_) {
      be.fft_real(input, roots_, output, rows, n_, inverse, scale, device.dtype());
      return;
    }
    const OwnedBuffer one = device.room(rows * n_), other = device.room(rows * n_);
    const Parts from(one, n_, 1), to(other, n_, 1);
    const Around around{rows, 1, inverse, scale};
    if (!inverse) {
      const std::array outputs{from.part(0), from.part(1)};
      be.map(widen_, std::array{rows, n_, Size{1}}, std::array{Reals(input, n_).operand()}, {},
             outputs);
      whole_->run(device, one, other, around);
      copy(be, copy_, rows, half_, to, Parts(output, half_, 1));
      return;
    }
    const Parts given(input, half_, 1);
    copy(be, copy_, rows, half_, given, from);
    copy(be, mirror_, rows, n_ - half_, Parts(input, half_, 1, n_ - half_, -1),
         Parts(one, n_, 1, half_));
    clear_imaginary(be, rows, from);
    if (n_ % 2 == 0) clear_imaginary(be, rows, Parts(one, n_, 1, half_ - 1));
    whole_->run(device, one, other, around);
    be.map(narrow_, std::array{rows, n_, Size{1}}, std::array{to.part(0)}, {},
           std::array{Reals(output, n_).operand()});
  }

 private:
  static void copy(Backend& be, const Program& program, Size rows, Size count, const Parts& from,
                   const Parts& to) {
    be.map(program, std::array{rows, count, Size{1}}, std::array{from.part(0), from.part(1)}, {},
           std::array{to.part(0), to.part(1)});
  }

  void clear_imaginary(Backend& be, Size rows, const Parts& of) const {
    be.map(zero_, std::array{rows, Size{1}, Size{1}}, {}, {}, std::array{of.part(1)});
  }

  Size n_, half_;
  Buffer roots_ = Buffer::null;
  std::optional<Axis> whole_;
  Program widen_, narrow_, copy_, mirror_, zero_;
};

}  // namespace

Size optimal_fft_size(Size n) {
  constexpr Size most = Size{1} << 40;
  if (n < 1 || n > most) {
    throw InvalidArgument(text("optimal_fft_size: n is ", n, ", expected 1 to ", most));
  }
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
    return plan.real->run(plan.device, input, output, rows, inverse, scale);
  }
  const OwnedBuffer halves = plan.device.room(plan.transform_numbers);
  if (inverse) {
    plan.run_axes(input, halves, true, 1);
    plan.real->run(plan.device, halves, output, rows, true, scale);
  } else {
    plan.real->run(plan.device, input, halves, rows, false, 1);
    plan.run_axes(halves, output, false, scale);
  }
}

}  // namespace tilewright
