#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <string_view>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

/// Enough workgroups for any GPU; a piece of a row keeps at least this many elements.
constexpr Size wanted_groups = 2048;
constexpr Size least_piece_of_row = 8 * group_size;
constexpr Size least_piece_of_column = 64;
/// Rows up to this long are walked by one work-item each.
constexpr Size short_row = 32;

struct Pieces {
  Size count, length;
};

Pieces cut(Size length, Size least, Size wanted) {
  const Size count = std::clamp<Size>(wanted, 1, std::max<Size>(length / least, 1));
  const Size piece = (length + count - 1) / count;
  return {(length + piece - 1) / piece, piece};
}

}  // namespace

void GpuBackend::do_reduce(const ReduceRequest& r) {
  constexpr std::string_view name = "reduce";
  require(name, r.dtype);
  const Size results = r.outer * r.inner;
  if (r.length == 0) {
    const float value = r.op == ReduceOp::mean ? std::numeric_limits<float>::quiet_NaN() : 0;
    const struct {
      std::uint32_t n, value;
    } params{u32(results), std::bit_cast<std::uint32_t>(value)};
    const std::array<Binding, 1> bindings{bind(name, r.output, bytes_of(results, r.dtype))};
    run(KernelId::fill, half_bit(r.dtype), params, bindings,
        cover(static_cast<std::uint64_t>(results), group_size),
        [&](TemplateVariables& v) { set_common(v, r.dtype); });
    return;
  }
  reduce(name, r.op, r.input, r.dtype, r.output, r.dtype, {r.outer, r.length, r.inner});
}

void GpuBackend::reduce(std::string_view name, ReduceOp asked, const AllocationRef& source,
                        DType from, const AllocationRef& target, DType to, const Extents& r) {
  const bool mean = asked == ReduceOp::mean;
  const ReduceOp op = mean ? ReduceOp::sum : asked;
  const Size results = r.outer * r.inner;
  const float factor = mean ? 1.0f / static_cast<float>(r.length) : 1.0f;

  const auto step = [&](const Binding& in, const Binding& out, DType from_type, DType to_type,
                        Size outer, Size length, Size inner, const Pieces& pieces, bool rows,
                        float by) {
    const std::uint32_t variant =
        static_cast<std::uint32_t>(op) * 4 + half_bit(from_type) * 2 + half_bit(to_type);
    const auto fill = [&](TemplateVariables& v) {
      set_common(v, from_type);
      v["TO"] = type_name(to_type);
      v["OP"] = std::string(to_string(op));
    };
    const std::array<Binding, 2> bindings{in, out};
    if (rows) {
      const struct {
        std::uint32_t rows, length, pieces, piece;
        float factor;
      } params{u32(outer), u32(length), u32(pieces.count), u32(pieces.length), by};
      run(KernelId::reduce_rows, variant, params, bindings,
          cover(static_cast<std::uint64_t>(outer * pieces.count), 1), fill);
    } else {
      const struct {
        std::uint32_t columns, length, inner, pieces, piece;
        float factor;
      } params{u32(outer * inner), u32(length),        u32(inner),
               u32(pieces.count),  u32(pieces.length), by};
      run(KernelId::reduce_columns, variant, params, bindings,
          cover(static_cast<std::uint64_t>(outer * inner * pieces.count), group_size), fill);
    }
  };

  const bool rows = r.inner == 1 && r.length > short_row;
  const Pieces pieces =
      rows ? cut(r.length, least_piece_of_row, wanted_groups / r.outer)
           : cut(r.length, least_piece_of_column, wanted_groups * group_size / 4 / results);
  const Binding input = bind(name, source, bytes_of(r.outer * r.length * r.inner, from));
  const Binding output = bind(name, target, bytes_of(results, to));
  if (pieces.count == 1) {
    return step(input, output, from, to, r.outer, r.length, r.inner, pieces, rows, factor);
  }
  const AllocationRef scratch = memory_->allocate(bytes_of(results * pieces.count, DType::float32));
  const Binding partial = bind(name, scratch, bytes_of(results * pieces.count, DType::float32));
  step(input, partial, from, DType::float32, r.outer, r.length, r.inner, pieces, rows, 1.0f);
  // Rows left their pieces side by side, columns one under the other.
  const Pieces all{1, pieces.count};
  if (rows) {
    step(partial, output, DType::float32, to, results, pieces.count, 1, all,
         pieces.count > short_row, factor);
  } else {
    step(partial, output, DType::float32, to, 1, pieces.count, results, all, false, factor);
  }
}

}  // namespace tilewright::gpu
