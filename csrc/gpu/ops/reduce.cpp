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

/// Enough workgroups for the measured GPU.
constexpr Size enough_groups = 2048;
/// Vectors of four that a work-item reads before it uses the first.
constexpr std::size_t depth = 4;
/// Neighbouring columns, or vectors of four of them, that make whole reads of memory.
constexpr std::size_t columns_side_by_side = 32;

std::size_t u(Size size) { return static_cast<std::size_t>(size); }

std::size_t groups_of(std::size_t items, std::size_t per_group) {
  return (items + per_group - 1) / per_group;
}

/// A step of a reduction, [outer, length, inner] along length: how the work-items of a workgroup
/// share it out, and in how many pieces the axis goes.
struct Step {
  Size outer, length, inner;
  bool rows, vector;
  std::size_t walkers;  ///< of one result; a power of two
  Size pieces, piece;
};

Step plan_step(Size outer, Size length, Size inner, Size units) {
  Step s{outer, length, inner, inner == 1, (inner == 1 ? length : inner) % 4 == 0, 1, 1, length};
  const std::size_t results = u(outer * inner);
  std::size_t blocks = 0;
  std::size_t of_walkers = 0;  // elements of the axis that a workgroup reads at a time
  if (s.rows) {
    const std::size_t of_item = 4 * depth;
    s.walkers = std::min<std::size_t>(std::bit_ceil(groups_of(u(length), of_item)), group_size);
    blocks = groups_of(results, group_size / s.walkers);
    of_walkers = s.walkers * of_item;
  } else {
    const std::size_t columns = s.vector ? results / 4 : results;
    const std::size_t most = group_size / std::min(std::bit_ceil(columns), columns_side_by_side);
    s.walkers = std::min(std::bit_ceil(groups_of(u(length), depth)), most);
    blocks = groups_of(columns, group_size / s.walkers);
    of_walkers = s.walkers * depth;
  }
  const std::size_t wanted = std::clamp<std::size_t>(u(filling(enough_groups, units)) / blocks, 1,
                                                     groups_of(u(length), 2 * of_walkers));
  // Pieces of whole vectors.
  s.piece = static_cast<Size>((groups_of(u(length), wanted) + 3) / 4 * 4);
  s.pieces = static_cast<Size>(groups_of(u(length), u(s.piece)));
  return s;
}

}  // namespace

void GpuBackend::launch_reduce(const ReduceRequest& r) {
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

void GpuBackend::reduce(std::string_view name, ReduceOp asked, const BufferRange& source,
                        DType from, const BufferRange& target, DType to, const Extents& r) {
  const bool mean = asked == ReduceOp::mean;
  const ReduceOp op = mean ? ReduceOp::sum : asked;
  const Size results = r.outer * r.inner;
  const float factor = mean ? 1.0f / static_cast<float>(r.length) : 1.0f;

  const auto run_step = [&](const Step& s, const Binding& in, const Binding& out, DType from_type,
                            DType to_type, float by) {
    const std::uint32_t variant =
        ((static_cast<std::uint32_t>(op) * 512 + static_cast<std::uint32_t>(s.walkers)) * 2 +
         (s.vector ? 1 : 0)) *
            4 +
        half_bit(from_type) * 2 + half_bit(to_type);
    const auto fill = [&](TemplateVariables& v) {
      set_common(v, from_type);
      v["TO"] = type_name(to_type);
      v["OP"] = std::string(to_string(op));
      v["WALKERS"] = static_cast<std::int64_t>(s.walkers);
      v["DEPTH"] = static_cast<std::int64_t>(depth);
      v["VECTOR"] = std::int64_t{s.vector};
    };
    const std::array<Binding, 2> bindings{in, out};
    if (s.rows) {
      const struct {
        std::uint32_t rows, length, pieces, piece;
        float factor;
      } params{u32(s.outer), u32(s.length), u32(s.pieces), u32(s.piece), by};
      run(KernelId::reduce_rows, variant, params, bindings,
          cover(static_cast<std::uint64_t>(s.outer * s.pieces), group_size / s.walkers), fill);
    } else {
      const struct {
        std::uint32_t columns, length, inner, pieces, piece;
        float factor;
      } params{u32(s.outer * s.inner), u32(s.length), u32(s.inner),
               u32(s.pieces),          u32(s.piece),  by};
      const std::size_t columns = u(s.outer * s.inner) / (s.vector ? 4 : 1);
      run(KernelId::reduce_columns, variant, params, bindings,
          cover(groups_of(columns, group_size / s.walkers) * u(s.pieces), 1), fill);
    }
  };

  const Size units = device_->limits().planned_units;
  Step first = plan_step(r.outer, r.length, r.inner, units);
  const Binding input = bind(name, source, bytes_of(r.outer * r.length * r.inner, from));
  const Binding output = bind(name, target, bytes_of(results, to));
  const std::uint64_t partial_bytes = bytes_of(results * first.pieces, DType::float32);
  AllocationRef scratch;
  if (first.pieces > 1) scratch = memory_->try_scratch(name, partial_bytes);
  if (!scratch) {
    first.pieces = 1;
    first.piece = first.length;
    return run_step(first, input, output, from, to, factor);
  }
  const Binding partial = bind(name, scratch, partial_bytes);
  run_step(first, input, partial, from, DType::float32, 1.0f);
  // Rows left their pieces side by side, columns one under the other.
  Step last = first.rows ? plan_step(results, first.pieces, 1, units)
                         : plan_step(1, first.pieces, results, units);
  last.pieces = 1;
  last.piece = last.length;
  run_step(last, partial, output, DType::float32, to, factor);
}

}  // namespace tilewright::gpu
