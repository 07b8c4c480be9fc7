// A two-layer perceptron with softmax on a tilewright backend, held against plain loops. Takes the
// backend's name, "auto" unless given.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include "tilewright/tilewright.hpp"

namespace tw = tilewright;

namespace {

constexpr tw::Size batch = 37, inputs = 65, hidden = 129, classes = 11;

std::vector<float> numbers(tw::Size n, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / static_cast<float>(1u << 24) - 0.5f;
  }
  return values;
}

class Perceptron {
 public:
  explicit Perceptron(tw::Backend& backend)
      : be_(backend),
        w1_(upload(numbers(inputs * hidden, 1))),
        b1_(upload(numbers(hidden, 2))),
        w2_(upload(numbers(hidden * classes, 3))),
        b2_(upload(numbers(classes, 4))) {}

  std::vector<float> operator()(const std::vector<float>& x) {
    const tw::Buffer in = upload(x), h = floats(batch * hidden), out = floats(batch * classes);
    layer(in, w1_, b1_, h, inputs, hidden);
    be_.unary(tw::UnaryOp::relu, h, h, batch * hidden);
    layer(h, w2_, b2_, out, hidden, classes);
    const tw::Size shape[] = {batch, classes};
    be_.softmax(out, out, shape, 1);
    std::vector<float> result(static_cast<std::size_t>(batch * classes));
    be_.copy_dtoh(std::as_writable_bytes(std::span(result)), out);
    for (tw::Buffer buffer : {in, h, out}) be_.free(buffer);
    return result;
  }

 private:
  /// out = in * w + b.
  void layer(tw::Buffer in, tw::Buffer w, tw::Buffer b, tw::Buffer out, tw::Size from,
             tw::Size to) {
    constexpr auto none = tw::Transpose::none;
    be_.gemm(none, none, batch, to, from, 1, in, from, w, to, 0, out, to);
    const tw::Size shape[] = {batch, to}, rows[] = {to, 1}, one_row[] = {0, 1};
    be_.binary_broadcast(tw::BinaryOp::add, out, rows, b, one_row, out, shape);
  }

  tw::Buffer floats(tw::Size n) { return be_.alloc(n * static_cast<tw::Size>(sizeof(float))); }

  tw::Buffer upload(const std::vector<float>& values) {
    const tw::Buffer buffer = floats(static_cast<tw::Size>(values.size()));
    be_.copy_htod(buffer, std::as_bytes(std::span(values)));
    return buffer;
  }

  tw::Backend& be_;
  tw::Buffer w1_, b1_, w2_, b2_;
};

/// rows x from times from x to, plus a bias, in double.
std::vector<double> plain_layer(const std::vector<double>& x, const std::vector<float>& w,
                                const std::vector<float>& b) {
  const std::size_t to = b.size(), from = w.size() / to, rows = x.size() / from;
  std::vector<double> out(rows * to);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < to; ++j) {
      double sum = b[j];
      for (std::size_t p = 0; p < from; ++p) sum += x[i * from + p] * w[p * to + j];
      out[i * to + j] = sum;
    }
  }
  return out;
}

std::vector<double> plain(const std::vector<float>& x) {
  std::vector<double> h =
      plain_layer({x.begin(), x.end()}, numbers(inputs * hidden, 1), numbers(hidden, 2));
  for (double& value : h) value = std::max(value, 0.0);
  std::vector<double> out = plain_layer(h, numbers(hidden * classes, 3), numbers(classes, 4));
  for (auto row = out.begin(); row != out.end(); row += classes) {
    double sum = 0;
    for (auto p = row; p != row + classes; ++p) sum += * p = std::exp(*p);
    for (auto p = row; p != row + classes; ++p) *p /= sum;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto backend = tw::init_backend(argc > 1 ? std::string_view(argv[1]) : "auto");
    const std::vector<float> x = numbers(batch * inputs, 5);
    const std::vector<float> got = Perceptron(*backend)(x);
    const std::vector<double> expected = plain(x);
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double error = std::abs(got[i] - expected[i]);
      worst = error <= worst ? worst : error;  // a NaN is kept
    }
    std::printf("tilewright %s on %s: largest error %.3g\n", tw::version(),
                backend->device().id.c_str(), worst);
    return worst < 1e-5 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
