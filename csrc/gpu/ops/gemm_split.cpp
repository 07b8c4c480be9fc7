#include <algorithm>
#include <array>

#include "gpu/backend.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

/// Elements of float16 that the kernels of matrix units read at once.
constexpr Size vector = 8;
/// Of scratch that one binding holds, where the next part of it may begin.
constexpr std::uint64_t part_step = 256;

Size count(Size size, Size part) { return (size + part - 1) / part; }
Size to_vectors(Size size) { return count(size, vector) * vector; }

/// A matrix as it is stored, and what it is laid out as: its rows one below the other, and where k
/// lies along rows the terms side by side, else one below the other.
struct Side {
  bool by_columns;  ///< the lines that meet in the product are columns of it
  Size rows, columns, ld;
  Size packed_rows, packed_columns;  ///< of one term

  Side(bool by_columns, Size lines, Size k, Size packed_k, Size ld)
      : by_columns(by_columns),
        rows(by_columns ? k : lines),
        columns(by_columns ? lines : k),
        ld(ld),
        packed_rows(by_columns ? packed_k : lines),
        packed_columns(by_columns ? to_vectors(lines) : packed_k) {}

  Size elements(Size terms) const { return packed_rows * packed_columns * terms; }
  std::uint64_t bytes(Size terms) const {
    return (bytes_of(elements(terms), DType::float16) + part_step - 1) / part_step * part_step;
  }
};

std::array<Side, 2> sides_of(const GemmRequest& r, Size packed_k) {
  return {Side(r.trans_a, r.m, r.k, packed_k, r.lda), Side(!r.trans_b, r.n, r.k, packed_k, r.ldb)};
}

/// Microseconds: each element is read once for its term, and once more where lines are measured.
double cost(const GemmRequest& r, Size terms, Size units) {
  constexpr double launch = 2.5, bytes_per_microsecond = 2.5e6;
  const double bytes = terms == 1 ? 6 : 14;
  const double speed =
      bytes_per_microsecond * static_cast<double>(units) / static_cast<double>(measured_units);
  return launch * static_cast<double>(terms) +
         bytes * static_cast<double>((r.m + r.n) * r.k) / speed;
}

}  // namespace

std::optional<GemmSplit> GpuBackend::gemm_split(const GemmRequest& r, double plain_cost) const {
  const DeviceLimits& limits = device_->limits();
  if (limits.matrix_lanes == 0 || r.dtype != DType::float32 || r.batch_count != 1 ||
      (r.rounding != Precision::float16 && r.rounding != Precision::high)) {
    return std::nullopt;
  }
  const Size terms = r.rounding == Precision::high ? 3 : 1, k = to_vectors(r.k);
  const std::array<Side, 2> sides = sides_of(r, k);
  const std::uint64_t packed = sides[0].bytes(terms) + sides[1].bytes(terms);
  if (packed > std::min(limits.max_binding_bytes, limits.max_buffer_bytes)) return std::nullopt;
  GemmRequest halves = r;
  halves.dtype = DType::float16;
  halves.rounding.reset();
  halves.k = terms * k;
  const std::optional<MatrixForm> form =
      matrix_form(halves, halves, plain_cost - cost(r, terms, limits.planned_units));
  if (!form) return std::nullopt;
  return GemmSplit{*form, terms, k, packed + (terms == 1 ? 0 : bytes_of(r.m + r.n, DType::uint32))};
}

void GpuBackend::multiply_split(const GemmRequest& r, const GemmSplit& split, const Binding& a,
                                const Binding& b, const Binding& c) {
  const std::array<Side, 2> sides = sides_of(r, split.k);
  const bool is_scaled = split.terms > 1;
  const std::uint64_t bytes_of_a = sides[0].bytes(split.terms);
  const std::uint64_t packed_bytes = bytes_of_a + sides[1].bytes(split.terms);
  const std::uint64_t largest_bytes = bytes_of(r.m + r.n, DType::uint32);
  const AllocationRef scratch = memory_->scratch(r.op, packed_bytes);
  const AllocationRef lines = is_scaled ? memory_->scratch(r.op, largest_bytes) : AllocationRef{};
  const Binding packed = bind(r.op, scratch, packed_bytes);
  std::array<Binding, 4> bindings{a, b, packed, packed};
  if (is_scaled) {
    bindings[3] = bind(r.op, lines, largest_bytes);
    measure_lines(r, a, b, bindings[3]);
  }
  struct Matrix {
    std::uint32_t rows, columns, ld, by_columns, first, vectors, items, apart, term, start;
  };
  std::array<Matrix, 2> params{};
  std::array<GemmOperand, 2> operands{};
  std::uint64_t items = 0;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Side& side = sides[i];
    const Size along = side.by_columns ? 1 : split.terms, vectors = side.packed_columns / vector;
    const std::uint64_t start = i == 0 ? 0 : bytes_of_a;
    params[i] = {u32(side.rows),
                 u32(side.columns),
                 u32(side.ld),
                 side.by_columns ? 1u : 0u,
                 i == 0 ? 0 : u32(r.m),
                 u32(vectors),
                 u32(side.packed_rows * vectors),
                 u32(vectors * along),
                 u32(side.by_columns ? side.packed_rows * vectors : vectors),
                 static_cast<std::uint32_t>(start / bytes_of(vector, DType::float16))};
    items += params[i].items;
    operands[i] = {{packed.buffer, packed.offset + start, packed.bytes - start},
                   side.packed_columns * along,
                   0,
                   true,
                   false};
  }
  run(KernelId::gemm_split, is_scaled ? 1 : 0, params, std::span(bindings).first(is_scaled ? 4 : 3),
      cover(items, group_size), [&](TemplateVariables& v) {
        v["GROUP"] = std::int64_t{group_size};
        v["TERMS"] = split.terms;
      });
  GemmRequest halves = r;
  halves.dtype = DType::float16;
  halves.rounding.reset();
  halves.k = split.terms * split.k;
  GemmForm form;
  form.matrix = split.form;
  if (is_scaled) form.largest = &bindings[3];
  multiply_form(halves, form, operands[0], operands[1], c, nullptr);
}

void GpuBackend::measure_lines(const GemmRequest& r, const Binding& a, const Binding& b,
                               const Binding& largest) {
  constexpr Size rows_of_tile = 32, columns_of_tile = 128;
  fill_zeros(largest, r.m + r.n);
  struct Matrix {
    std::uint32_t rows, columns, ld, by_columns, first, wide, tiles;
  };
  std::array<Matrix, 2> params{};
  const std::array<Side, 2> sides = sides_of(r, r.k);
  std::uint64_t tiles = 0;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Side& side = sides[i];
    const Size wide = count(side.columns, columns_of_tile);
    params[i] = {u32(side.rows),
                 u32(side.columns),
                 u32(side.ld),
                 side.by_columns ? 1u : 0u,
                 i == 0 ? 0 : u32(r.m),
                 u32(wide),
                 u32(wide * count(side.rows, rows_of_tile))};
    tiles += params[i].tiles;
  }
  const std::array<Binding, 3> bindings{a, b, largest};
  run(KernelId::gemm_largest, 0, params, bindings, cover(tiles, 1), [](TemplateVariables&) {});
}

}  // namespace tilewright::gpu
