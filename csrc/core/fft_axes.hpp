#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fft_tables.hpp"
#include "core/ops/fft.hpp"
#include "core/text.hpp"
#include "tilewright/fft_plan.hpp"
#include "tilewright/owned_buffer.hpp"
#include "tilewright/program.hpp"

// What plans of Fourier transforms are made of: complex transforms along one axis, of any length.
namespace tilewright::fft_axes {

/// Whether such a length may be several steps here; the CPU takes all others in one.
inline bool takes_steps(const Backend& be, Size n) {
  return be.name() == "cpu" ? has_fft_primes_alone(n) : has_passes_alone(n);
}
/// Whether one step takes lengths of other factors, however long they are.
inline bool takes_any(const Backend& be) { return be.name() == "cpu"; }

/// Of how many numbers a workgroup of this GPU has the memory, in so many bytes each, beside what
/// keeps them in different banks.
inline Size held_by_workgroup(Backend& be, std::size_t bytes) {
  const auto limits = be.capabilities().limits;
  const auto found = limits.find("max_workgroup_memory_bytes");
  return found == limits.end() ? 0 : (static_cast<Size>(found->second / bytes) - 1) * 16 / 17;
}

/// What one step takes of a length, or of its factors, in rows or along another axis.
inline Size longest_step(Backend& be, DType dtype, Size n, bool is_row) {
  constexpr Size on_cpu = 1 << 14, across_on_cpu = 1 << 12, across = 256, any_gpu = 512;
  if (be.name() == "cpu") return is_row ? on_cpu : across_on_cpu;
  if (!is_row) return be.name() == "webgpu" ? any_gpu : across;
  if (be.name() == "level-zero") return any_gpu;
  // Of real parts, then of imaginary ones; of both at a time where a prime is a pass of sums.
  const bool is_split = has_fft_primes_alone(n);
  const Size held = held_by_workgroup(be, size_of(dtype) * (is_split ? 1 : 2));
  return held == 0 ? any_gpu : std::min(Size{is_split ? 8192 : 4096}, held);
}

/// Whether one step takes such a length on this device as a convolution: one that has other factors
/// than passes are for, and is convolved as a whole, by transforms that a workgroup holds.
inline bool takes_convolved(Backend& be, DType dtype, Size n) {
  if (be.name() != "webgpu" || takes_steps(be, n)) return false;
  const auto most = static_cast<Size>(std::bit_ceil(static_cast<std::uint64_t>(2 * n - 1)));
  const Size held = std::min(Size{4096}, held_by_workgroup(be, 2 * size_of(dtype)));
  return fft_tables::convolution_of(n).n == n && most <= held;
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
  static Parts table(Buffer buffer, Size first = 0) {
    Parts parts(buffer, 0, 1, first);
    parts.strides_ = {0, 2, 0};
    return parts;
  }
  MapOperand part(Size which) const { return {buffer_, strides_, offset_ + which}; }

 private:
  Buffer buffer_;
  std::array<Size, 3> strides_;
  Size offset_;
};

using Value = Program::Value;

/// a b of complex numbers, of whose parts the imaginary ones of a, and of what comes out, get a
/// sign of their own.
inline Program product(DType dtype, bool conjugates_input, bool conjugates_output, bool scaled) {
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

inline Program zeros(DType dtype) {
  Program p;
  for (int i = 0; i < 2; ++i) p.output(p.constant(0.0, dtype));
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
  /// Of fft, or of fft_real.
  Buffer roots(Size n, bool real = false) {
    const bool is_half = real && n % 2 == 0 && !has_passes_alone(n);
    return table(text(is_half ? "real roots " : "roots ", n),
                 [&] { return fft_tables::roots(n, real); });
  }

 private:
  std::shared_ptr<Backend> backend_;
  DType dtype_;
  Size table_bytes_ = 0;
  std::map<std::string, OwnedBuffer> tables_;
};

/// Complex transforms along one axis by Backend::fft.
class Steps {
 public:
  Steps(Device& device, Size n, bool is_row) : n_(n) {
    Size rest = n;
    std::vector<Size> sizes{n};
    if (takes_steps(device.be(), n)) {
      sizes = fft_tables::steps(n, longest_step(device.be(), device.dtype(), n, is_row));
    }
    for (const Size size : sizes) {
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
    zeros_ = zeros(device.dtype());
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
    if (takes_steps(device.be(), n) || takes_any(device.be()) ||
        takes_convolved(device.be(), device.dtype(), n)) {
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

}  // namespace tilewright::fft_axes
