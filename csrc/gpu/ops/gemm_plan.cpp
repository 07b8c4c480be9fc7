#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "gpu/backend.hpp"
#include "gpu/choice_points.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/plan.hpp"

// Which kernel a product takes, by which tiles, in how many pieces, and whether matrices are packed
// for it: by what it would cost, unless a table or a tool says otherwise.
namespace tilewright::gpu {

namespace {

constexpr auto tile_names = names_of(gemm_tiles);
/// Matrices whose rows are no whole vec4: read one by one as they are, or packed first.
constexpr std::string_view row_names[] = {"loose", "packed"};
/// Pieces that k is cut into (split-K): as planned, or so many, each twice as many as the one
/// before.
constexpr std::string_view piece_names[] = {"planned", "1", "2", "4", "8", "16", "32"};

Size count(Size size, Size part) { return (size + part - 1) / part; }

GemmWork work_of(const GemmRequest& r, bool vectors, Size units) {
  return {r.m, r.n, r.k, r.batch_count, r.dtype == DType::float16, vectors, units};
}

/// Elements of float16 that matrix units' kernels read at once.
constexpr Size matrix_vector = 8;

/// What a piece of k is at least worth.
constexpr Size least_piece = 128;

/// Pieces of k that fill a GPU which `groups` workgroups do not.
Size pieces_to_fill(Size groups, Size fill, Size k) {
  return std::clamp<Size>(fill / std::max<Size>(groups, 1), 1, std::max<Size>(k / least_piece, 1));
}

Size groups_of(const GemmWork& w, const GemmTile& tile, Size rows) {
  return count(rows, tile.bm) * count(w.n, tile.bn) * w.batch_count;
}

/// What a GPU of so many processors moves of what the measured one does in the same time.
double bandwidth(double on_measured, Size units) {
  return on_measured * static_cast<double>(units) / static_cast<double>(measured_units);
}

}  // namespace

double gemm_cost(const GemmWork& w, const GemmTile& tile, Size rows, Size pieces) {
  const double work = 2.0 * static_cast<double>(tile.bm * tile.bn) * static_cast<double>(w.k) /
                      static_cast<double>(pieces);
  const double speed = !w.vectors ? tile.loose_speed : w.half ? tile.half_speed : tile.speed;
  const double wave = static_cast<double>(tile.fill(measured_units)) * work / (speed * 1e6);
  const Size groups = groups_of(w, tile, rows) * pieces;
  const Size left = groups % tile.fill(w.units);
  const double sharing =
      static_cast<double>(count(left, w.units)) / static_cast<double>(tile.resident);
  const double last = left == 0 ? 0 : 0.1 + 0.9 * sharing;
  constexpr double launch = 5;
  const double time = launch + (static_cast<double>(groups / tile.fill(w.units)) + last) * wave;
  if (pieces == 1) return time;
  constexpr double join = 3.5;
  const double bytes_per_microsecond = bandwidth(w.vectors ? 6e6 : 1.5e6, w.units);
  const double joined = static_cast<double>(rows * w.n * w.batch_count * pieces) * 8;
  return time + join + joined / bytes_per_microsecond;
}

Size gemm_tile_pieces(const GemmWork& w, const GemmTile& tile, Size rows) {
  const Size pieces = pieces_to_fill(groups_of(w, tile, rows), tile.fill(w.units), w.k);
  return pieces > 1 && gemm_cost(w, tile, rows, pieces) < gemm_cost(w, tile, rows, 1) ? pieces : 1;
}

namespace {

double least_cost(const GemmWork& w, const GemmTile& tile, Size rows) {
  return gemm_cost(w, tile, rows, gemm_tile_pieces(w, tile, rows));
}

/// Rows of C that fill whole waves, where it pays to cut the products of the others along k.
Size rows_ahead(const GemmWork& w, const GemmTile& tile) {
  const Size across = count(w.n, tile.bn);
  const Size waves = across * count(w.m, tile.bm) / tile.fill(w.units);
  const Size rows = waves * tile.fill(w.units) / across * tile.bm;
  if (w.batch_count > 1 || rows == 0 || rows >= w.m) return 0;
  const double apart = least_cost(w, tile, rows) + least_cost(w, tile, w.m - rows);
  return apart < least_cost(w, tile, w.m) ? rows : 0;
}

bool can_run(std::size_t tile, const DeviceLimits& limits) {
  return gemm_tiles[tile].memory(0) <= limits.local_memory_bytes;
}

struct TileChoice {
  std::size_t tile;
  double cost;
};

TileChoice choose_tile(const GemmWork& w, const DeviceLimits& limits) {
  TileChoice chosen{0, std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < std::size(gemm_tiles); ++i) {
    if (!can_run(i, limits)) continue;
    const GemmTile& tile = gemm_tiles[i];
    const Size ahead = rows_ahead(w, tile);
    const double now =
        least_cost(w, tile, w.m - ahead) + (ahead > 0 ? gemm_cost(w, tile, ahead, 1) : 0);
    if (now < chosen.cost) chosen = {i, now};
  }
  return chosen;
}

}  // namespace

double product_cost(const GemmWork& w, const DeviceLimits& limits) {
  return choose_tile(w, limits).cost;
}

namespace {

/// Along k both matrices end alike. Rows that are no whole vectors of so many elements are packed.
GemmPackings packings_of(const GemmRequest& r, Size vector = 4) {
  constexpr Size largest_tile = 128;
  const auto to_multiple = [](Size size, Size step) { return count(size, step) * step; };
  const bool deep_rows = !r.trans_a || r.trans_b;
  const Size k = deep_rows ? to_multiple(r.k, vector) : r.k;
  GemmPackings all{std::nullopt, std::nullopt, k};
  if (!vectors_of_a(r, vector) || k != r.k) {
    all.a = r.trans_a ? GemmPacking{r.k, r.m, k, to_multiple(r.m, largest_tile), true}
                      : GemmPacking{r.m, r.k, r.m, k, false};
  }
  if (!vectors_of_b(r, vector) || k != r.k) {
    all.b = r.trans_b ? GemmPacking{r.n, r.k, r.n, k, false}
                      : GemmPacking{r.k, r.n, k, to_multiple(r.n, largest_tile), true};
  }
  return all;
}

/// Microseconds.
double block_packing_cost(const GemmRequest& r, Size units) {
  constexpr double launches = 5;
  const auto bytes = static_cast<double>(bytes_of((r.m + r.n) * r.k * r.batch_count, r.dtype));
  return launches + 2 * bytes / bandwidth(2.5e6, units);
}

/// Whether there is something to pack, which one binding holds.
bool can_pack(const GemmRequest& r, const GemmPackings& packings, const DeviceLimits& limits) {
  constexpr Size least = 128;  // the largest tile
  return r.alpha != 0 && std::min({r.m, r.n, r.k}) >= least && (packings.a || packings.b) &&
         packings.bytes(r) <= std::min(limits.max_binding_bytes, limits.max_buffer_bytes);
}

/// The rule for a product of `loose_cost`.
/// Microseconds.
double packing_cost(const GemmRequest& r, const GemmPackings& packings, Size units) {
  constexpr double launch = 2.5;
  return launch + 2 * static_cast<double>(packings.bytes(r)) / bandwidth(2.5e6, units);
}

/// The rule for a product of `loose_cost`.
bool pays_to_pack(const GemmRequest& r, const GemmPackings& packings, double loose_cost,
                  const DeviceLimits& limits) {
  if (!(r.dtype == DType::float16 ? limits.packs_float16 : limits.packs_float32)) return false;
  const double packing = packing_cost(r, packings, limits.planned_units);
  GemmWork packed = work_of(r, true, limits.planned_units);
  packed.k = packings.k;
  return packing + choose_tile(packed, limits).cost < loose_cost;
}

/// Columns of a workgroup of the thin kernel, and how many workgroups fill the measured GPU.
constexpr Size thin_columns = 128;
constexpr Size enough_thin = 512;

bool is_thin(const GemmRequest& r) { return std::min(r.m, r.n) <= most_thin; }

Size thin_pieces(const GemmRequest& r, Size units) {
  const Size groups = count(std::max(r.m, r.n), thin_columns) * r.batch_count;
  return pieces_to_fill(groups, filling(enough_thin, units), r.k);
}

}  // namespace

constinit const ChoicePoint gemm_choice{
    "gemm", tile_names, {"trans_a", "trans_b", "float16", "to_float16"}};
constinit const ChoicePoint gemm_rows_choice{
    "gemm_rows", row_names, {"trans_a", "trans_b", "float16"}};
constinit const ChoicePoint gemm_pieces_choice{
    "gemm_pieces", piece_names, {"trans_a", "trans_b", "float16"}};

namespace {

/// What a table or a tool says; nothing where it is as planned.
std::optional<Size> picked_pieces(Choices& choices, const GemmRequest& r) {
  const auto pieces_of = [](std::size_t candidate) { return Size{1} << (candidate - 1); };
  const std::size_t picked = choices.pick(
      gemm_pieces_choice, {r.m, r.n, r.k, r.batch_count},
      {r.trans_a, r.trans_b, r.dtype == DType::float16}, 0, [&](std::size_t candidate) {
        return candidate == 0 || r.k >= std::max<Size>(pieces_of(candidate), 2) * least_piece;
      });
  return picked == 0 ? std::nullopt : std::optional(pieces_of(picked));
}

}  // namespace

GemmForm GpuBackend::gemm_form(const GemmRequest& r, bool vectors, Size lda,
                               const GemmRequest& asked, std::size_t rule) const {
  GemmForm form;
  form.tile = choices_->pick(
      gemm_choice, {asked.m, asked.n, asked.k, asked.batch_count},
      {r.trans_a, r.trans_b, r.dtype == DType::float16, r.output_dtype == DType::float16}, rule,
      [&](std::size_t candidate) { return can_run(candidate, device_->limits()); });
  const GemmTile& tile = gemm_tiles[*form.tile];
  const GemmWork work = work_of(r, vectors, device_->limits().planned_units);
  form.ahead = rows_ahead(work, tile);
  const std::uint64_t passed_a = bytes_of(r.trans_a ? form.ahead : form.ahead * lda, r.dtype);
  const std::uint64_t passed_c = bytes_of(form.ahead * r.ldc, r.output_dtype);
  if ((passed_a | passed_c) % device_->limits().binding_alignment != 0) form.ahead = 0;
  if (form.ahead > 0) form.pieces_ahead = gemm_tile_pieces(work, tile, form.ahead);
  form.pieces = gemm_tile_pieces(work, tile, r.m - form.ahead);
  if (const std::optional<Size> pieces = picked_pieces(*choices_, asked)) {
    form.ahead = 0;
    form.pieces = *pieces;
  }
  return form;
}

GemmPlan GpuBackend::plan_gemm(const GemmRequest& r) const {
  GemmPlan plan;
  const DeviceLimits& limits = device_->limits();
  const Size units = limits.planned_units;
  if (is_thin(r)) {
    plan.loose.pieces = picked_pieces(*choices_, r).value_or(thin_pieces(r, units));
    return plan;
  }
  const bool vectors = vectors_of_a(r) && vectors_of_b(r);
  const TileChoice rule = choose_tile(work_of(r, vectors, units), limits);
  plan.loose = gemm_form(r, vectors, r.lda, r, rule.tile);
  if (limits.block_lanes != 0) {
    plan.packed.matrix = matrix_form(r, r, rule.cost - block_packing_cost(r, units));
    if (plan.packed.matrix) {
      plan.blocks = blocks_of(r, matrix_tiles[plan.packed.matrix->tile]);
      plan.packed_bytes = plan.blocks->bytes();
      return plan;
    }
  }
  plan.split = gemm_split(r, rule.cost);
  const bool has_units = limits.matrix_lanes != 0;
  if (has_units && vectors_of_a(r, matrix_vector) && vectors_of_b(r, matrix_vector)) {
    plan.loose.matrix = matrix_form(r, r, rule.cost);
    if (plan.loose.matrix) return plan;
  } else if (const GemmPackings whole = packings_of(r, matrix_vector);
             has_units && can_pack(r, whole, limits)) {
    GemmRequest packed = r;
    packed.k = whole.k;
    plan.packed.matrix = matrix_form(packed, r, rule.cost - packing_cost(r, whole, units));
    if (plan.packed.matrix) {
      plan.packings = whole;
      plan.packed_bytes = whole.bytes(r);
      return plan;
    }
  }
  const GemmPackings packings = packings_of(r);
  if (!can_pack(r, packings, limits)) return plan;
  const bool pays = pays_to_pack(r, packings, rule.cost, limits);
  if (choices_->pick(gemm_rows_choice, {r.m, r.n, r.k, r.batch_count},
                     {r.trans_a, r.trans_b, r.dtype == DType::float16}, pays ? 1 : 0) != 1) {
    return plan;
  }
  plan.packings = packings;
  plan.packed_bytes = packings.bytes(r);
  GemmRequest packed = r;
  packed.k = packings.k;
  const Size lda = packings.a ? packings.a->packed_columns : r.lda;
  const std::size_t tile = choose_tile(work_of(packed, true, units), limits).tile;
  plan.packed = gemm_form(packed, true, lda, r, tile);
  return plan;
}

}  // namespace tilewright::gpu
