#include "tilewright/fft_plan.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/fft_tables.hpp"
#include "tilewright/error.hpp"
#include "tilewright/owned_buffer.hpp"
#include "tilewright/registry.hpp"

namespace tilewright {
namespace {

using Numbers = std::vector<std::complex<double>>;

Numbers transform(const Numbers& x) {
  const auto n = std::ssize(x);
  Numbers result(x.size());
  for (Size k = 0; k < n; ++k) {
    for (Size j = 0; j < n; ++j) {
      const long double angle = -2 * std::numbers::pi_v<long double> *
                                static_cast<long double>(j * k % n) / static_cast<long double>(n);
      result[static_cast<std::size_t>(k)] +=
          x[static_cast<std::size_t>(j)] *
          std::complex<double>(static_cast<double>(std::cos(angle)),
                               static_cast<double>(std::sin(angle)));
    }
  }
  return result;
}

double distance(const Numbers& a, const Numbers& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

TEST_CASE("fft tables: roots in all eighths of the circle") {
  for (const Size n : {1, 2, 3, 8, 12, 37, 1009}) {
    for (Size i = 0; i < 2 * n; ++i) {
      const long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(i) /
                                static_cast<long double>(n);
      const std::complex<double> root = fft_tables::root(i, n);
      CHECK(std::abs(root.real() - static_cast<double>(std::cos(angle))) < 2e-16);
      CHECK(std::abs(root.imag() - static_cast<double>(std::sin(angle))) < 2e-16);
    }
  }
}

TEST_CASE("fft tables: what a chirp is convolved with") {
  const Size n = 11, longer = 21;
  Numbers wrapped(longer);
  for (Size j = -(n - 1); j < n; ++j) {
    wrapped[static_cast<std::size_t>((j + longer) % longer)] =
        std::conj(fft_tables::root(j * j, 2 * n)) / static_cast<double>(longer);
  }
  CHECK(distance(fft_tables::chirp_answer(n, longer), transform(wrapped)) < 1e-15);
}

TEST_CASE("fft tables: what of a length is convolved") {
  for (const Size n : {1, 2, 97, 97 * 97, 1024, 30030}) {
    CHECK(fft_tables::convolution_of(n).n == 0);
    CHECK(fft_tables::roots_size(n, false) == n);
  }
  // All of it, but for many short ones.
  const std::array<std::array<Size, 2>, 6> lengths{{{101, 101},
                                                    {15 * 101, 15 * 101},
                                                    {16 * 101, 101},
                                                    {16 * 101 * 103, 16 * 101 * 103},
                                                    {16 * 4093, 4093},
                                                    {16 * 4099, 16 * 4099}}};
  for (const auto& [n, part] : lengths) {
    const fft_tables::Convolution found = fft_tables::convolution_of(n);
    CHECK(found.n == part);
    CHECK(found.longer >= 2 * part - 1);
    CHECK(found.longer <= 4 * part);
    CHECK(fft_tables::without(found.longer, std::array<Size, 4>{2, 3, 5, 7}) == 1);
    CHECK(std::ssize(fft_tables::roots(n, false)) == fft_tables::roots_size(n, false));
    CHECK(std::ssize(fft_roots(2 * n, true)) == 2 * n + found.numbers());
  }
}

TEST_CASE("fft tables: steps are as few and as even as can be") {
  CHECK(fft_tables::steps(1, 256) == std::vector<Size>{1});
  CHECK(fft_tables::steps(256, 256) == std::vector<Size>{256});
  CHECK(fft_tables::steps(1 << 16, 256) == std::vector<Size>{256, 256});
  CHECK(fft_tables::steps(1000 * 1000, 1024) == std::vector<Size>{1000, 1000});
  CHECK(fft_tables::steps(1000 * 17, 512) == std::vector<Size>{136, 125});
  CHECK(fft_tables::steps(97 * 97, 256) == std::vector<Size>{97, 97});
}

TEST_CASE("fft plans: of any length, there and back, on the cpu") {
  const std::shared_ptr<Backend> be = init_backend("cpu");
  for (const Size n : {1, 12, 37, 74}) {
    const FftPlan plan(be, std::array{n}, 2, FftKind::complex, DType::float64);
    Numbers x(static_cast<std::size_t>(2 * n));
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = {std::sin(static_cast<double>(i)), std::cos(3 * static_cast<double>(i))};
    }
    const auto middle = x.begin() + n;
    Numbers exact = transform({x.begin(), middle});
    const Numbers second = transform({middle, x.end()});
    exact.insert(exact.end(), second.begin(), second.end());
    const Size bytes = 16 * 2 * n;
    CHECK(8 * plan.input_size() == bytes);
    const OwnedBuffer a(be, bytes), b(be, bytes);
    be->copy_htod(a, std::as_bytes(std::span(x)));
    plan.run(a, b);
    Numbers got(x.size());
    be->copy_dtoh(std::as_writable_bytes(std::span(got)), b);
    CHECK(distance(got, exact) < 1e-13);
    plan.run(b, a, true, 1.0 / static_cast<double>(n));
    be->copy_dtoh(std::as_writable_bytes(std::span(got)), a);
    CHECK(distance(got, x) < 1e-14);
  }
}

TEST_CASE("fft plans: owners of their tables") {
  const std::shared_ptr<Backend> be = init_backend("cpu");
  {
    FftPlan plan(be, std::array<Size, 2>{37, 12}, 3, FftKind::real);
    CHECK(plan);
    CHECK(plan.input_size() == 3 * 37 * 12);
    CHECK(plan.transform_size() == 3 * 37 * 7 * 2);
    CHECK(be->memory_stats().active_bytes >= static_cast<std::uint64_t>(plan.table_bytes()));
    FftPlan moved = std::move(plan);
    CHECK_FALSE(plan);  // NOLINT: what is left of it is what is asked
    CHECK(plan.input_size() == 0);
    CHECK(plan.backend() == nullptr);
    CHECK_THROWS_WITH_AS(plan.run(Buffer::null, Buffer::null),
                         "fft_plan: the plan is of nothing; make one of a backend",
                         InvalidArgument);
    plan = std::move(moved);
    CHECK(plan.backend() == be);
  }
  CHECK(be->memory_stats().allocations == 0);
  static_assert(!std::is_copy_constructible_v<FftPlan>);
  static_assert(std::is_nothrow_move_constructible_v<FftPlan>);
  CHECK_THROWS_WITH_AS(FftPlan(nullptr, std::array<Size, 1>{4}),
                       "fft_plan: backend is null, expected a backend", InvalidArgument);
}

}  // namespace
}  // namespace tilewright
