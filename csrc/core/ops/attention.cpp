#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/call.hpp"
#include "core/head_rows.hpp"
#include "core/map_operands.hpp"
#include "core/page_dtype.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

namespace {

Size check_kv_heads(const Call& call, Size heads, const std::optional<Size>& kv_heads) {
  if (!kv_heads) return heads;
  call.positive("kv_heads", *kv_heads);
  if (heads % *kv_heads != 0) {
    call.invalid(text("kv_heads is ", *kv_heads, ", expected a divisor of heads ", heads));
  }
  return *kv_heads;
}

/// The scale as the ops use it.
float check_scale(const Call& call, double scale) {
  call.positive_finite("scale", scale);
  const auto narrow = static_cast<float>(scale);
  if (!std::isfinite(narrow) || narrow == 0) {
    call.invalid(text("scale is ", scale, ", which is out of the range of float32"));
  }
  return narrow;
}

/// Everything beside the plain call but where keys and queries lie.
void check_options(const Call& call, AttentionRequest& r, double soft_cap,
                   std::optional<Size> window_left, std::optional<Size> window_right,
                   std::optional<Size> value_dim, bool at_end) {
  AttentionOptions& options = r.options;
  if (soft_cap != 0) {
    call.positive_finite("soft_cap", soft_cap);
    options.soft_cap = static_cast<float>(soft_cap);
    if (!std::isfinite(options.soft_cap) || options.soft_cap < 1e-30f) {
      call.invalid(text("soft_cap is ", soft_cap, ", which is out of the range of float32"));
    }
  }
  if (window_left) call.not_negative("window_left", *window_left);
  if (window_right) call.not_negative("window_right", *window_right);
  if (value_dim) {
    call.positive("value_dim", *value_dim);
    r.value_dim = *value_dim;
  }
  if (at_end && r.q_offset != 0) {
    call.invalid(text("q_offset is ", r.q_offset, ", expected 0 with at_end"));
  }
}

/// Which keys and queries sequences have, and pages.
void check_places(const Call& call, AttentionRequest& r, std::optional<Buffer> kv_lengths,
                  std::optional<Buffer> page_table, std::optional<Size> page_size,
                  std::optional<Size> pages, std::optional<Buffer> q_starts,
                  std::optional<Buffer> kv_starts, std::optional<DType> page_dtype,
                  std::optional<Buffer> page_scales) {
  AttentionOptions& options = r.options;
  const auto needs = [&](bool given, std::string_view name, bool other, std::string_view what) {
    if (given && !other) call.invalid(text(name, " needs ", what, ", which is not given"));
  };
  needs(page_table.has_value(), "page_table", page_size.has_value(), "page_size");
  needs(page_table.has_value(), "page_table", pages.has_value(), "pages");
  needs(page_size.has_value(), "page_size", page_table.has_value(), "page_table");
  needs(pages.has_value(), "pages", page_table.has_value(), "page_table");
  needs(kv_starts.has_value(), "kv_starts", q_starts.has_value(), "q_starts");
  if (kv_starts && page_table) call.invalid("kv_starts goes without page_table");
  if (kv_starts && kv_lengths) call.invalid("kv_starts goes without kv_lengths");
  if (page_table) {
    needs(q_starts.has_value(), "q_starts with page_table", kv_lengths.has_value(), "kv_lengths");
  } else {
    needs(q_starts.has_value(), "q_starts", kv_starts.has_value(), "kv_starts");
  }
  const auto numbers = [&](std::string_view name, std::optional<Buffer> given, Size count) {
    return given ? call.buffer(name, *given, count, DType::int32) : BufferRange{};
  };
  needs(page_dtype.has_value(), "page_dtype", page_table.has_value(), "page_table");
  if (page_dtype) {
    options.page_dtype = check_page_dtype(call, *page_dtype, r.dtype, page_scales.has_value());
  }
  needs(page_scales.has_value(), "page_scales", page_dtype.has_value(), "page_dtype");
  constexpr Size most = std::numeric_limits<std::int32_t>::max();
  const bool counted = kv_lengths || page_table || q_starts;
  if (counted && r.seq_kv > most) {
    call.invalid(text("seq_kv is ", r.seq_kv, ", more than int32 can count"));
  }
  if (q_starts && r.seq_q > most) {
    call.invalid(text("seq_q is ", r.seq_q, ", more than int32 can count"));
  }
  options.kv_lengths = numbers("kv_lengths", kv_lengths, r.batch);
  options.q_starts = numbers("q_starts", q_starts, call.add(r.batch, 1));
  options.kv_starts = numbers("kv_starts", kv_starts, call.add(r.batch, 1));
  if (!page_table) return;
  call.positive("page_size", *page_size);
  call.positive("pages", *pages);
  if (r.seq_kv % *page_size != 0) {
    call.invalid(text("page_size is ", *page_size, ", expected a divisor of seq_kv ", r.seq_kv));
  }
  if (*pages > most) call.invalid(text("pages is ", *pages, ", more than int32 can count"));
  options.page_size = *page_size;
  options.pages = *pages;
  options.page_table = numbers("page_table", page_table, call.mul(r.batch, r.seq_kv / *page_size));
  if (!page_scales) return;
  options.page_scales =
      call.buffer("page_scales", *page_scales, call.product({*pages, 2, r.kv_heads, *page_size}),
                  DType::float32);
}

void check_mask(const Call& call, AttentionRequest& r, const std::optional<MapOperand>& mask,
                DType mask_dtype) {
  call.known("mask_dtype", mask_dtype);
  if (mask_dtype != DType::boolean && mask_dtype != r.dtype) {
    call.invalid(text("mask_dtype is ", to_string(mask_dtype), ", expected bool or ",
                      to_string(r.dtype), ", the dtype"));
  }
  AttentionOptions& options = r.options;
  options.mask_dtype = mask_dtype;
  if (!mask) return;
  if (options.q_starts) call.invalid("mask goes without q_starts");
  const Shape4 shape{r.batch, r.heads, r.seq_q, r.seq_kv};
  const RowStrides by_rows(shape);
  const auto checked =
      check_operand(call, "mask", *mask, shape, by_rows, mask_dtype, false, "its shape");
  const std::span<const Size> strides = by_rows.of(*mask);
  std::array<Size, 4> steps{};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (shape[i] == 1) continue;
    steps[i] = strides[i];
    if (steps[i] < 0) {
      call.invalid(text("mask.strides[", i, "] is ", steps[i], ", expected 0 or more"));
    }
  }
  options.mask_rows = {steps[0], steps[1], steps[2]};
  options.mask_key = steps[3];
  const auto [first, past] = checked->place;
  options.mask = {checked->operand.allocation, static_cast<std::uint64_t>(first),
                  static_cast<std::uint64_t>(past - first)};
}

/// Which keys a query sees, and whether the plain call says the same.
void place_window(const Call& call, AttentionRequest& r, std::optional<Size> left,
                  std::optional<Size> right, bool at_end) {
  AttentionOptions& options = r.options;
  const Size limit = call.add(r.seq_q, r.seq_kv);
  call.mul(limit, 4);
  const bool counted = options.kv_lengths || options.q_starts;
  options.at_end = at_end && counted;
  const Size place = at_end && !counted ? r.seq_kv - r.seq_q : r.q_offset;
  options.low = left ? std::clamp(place - *left, -limit, limit) : -limit;
  options.high = limit;
  if (right) options.high = std::min(limit, std::min(place, limit) + std::min(*right, limit));
  if (r.causal) options.high = std::min(options.high, place);
  r.plain = r.value_dim == r.head_dim && !options.mask && options.soft_cap == 0 && !counted &&
            !options.page_table && options.low <= 1 - r.seq_q && options.high >= 0;
  if (!r.plain) return;
  r.causal = options.high < r.seq_kv - 1;
  r.q_offset = r.causal ? options.high : 0;
}

}  // namespace

void Backend::attention(const MapOperand& q, const MapOperand& k, const MapOperand& v,
                        const MapOperand& o, Size batch, Size heads, Size seq_q, Size seq_kv,
                        Size head_dim, double scale, bool causal, Size q_offset,
                        std::optional<Size> kv_heads, DType dtype,
                        const std::optional<MapOperand>& mask, DType mask_dtype, double soft_cap,
                        std::optional<Size> window_left, std::optional<Size> window_right,
                        std::optional<Size> value_dim, bool at_end,
                        std::optional<Buffer> kv_lengths, std::optional<Buffer> page_table,
                        std::optional<Size> page_size, std::optional<Size> pages,
                        std::optional<Buffer> q_starts, std::optional<Buffer> kv_starts,
                        std::optional<DType> page_dtype, std::optional<Buffer> page_scales) {
  Call call(*state_, "attention");
  call.positive("batch", batch);
  call.positive("heads", heads);
  call.positive("seq_q", seq_q);
  call.positive("seq_kv", seq_kv);
  call.positive("head_dim", head_dim);
  const float scale32 = check_scale(call, scale);
  call.not_negative("q_offset", q_offset);
  call.add(q_offset, seq_q);
  call.float_dtype(dtype);
  AttentionRequest r;
  r.kv_heads = check_kv_heads(call, heads, kv_heads);
  r.batch = batch;
  r.heads = heads;
  r.seq_q = seq_q;
  r.seq_kv = seq_kv;
  r.head_dim = head_dim;
  r.value_dim = head_dim;
  r.scale = scale32;
  r.causal = causal;
  r.q_offset = q_offset;
  r.dtype = dtype;
  r.plain = !(mask || mask_dtype != DType::boolean || soft_cap != 0 || window_left ||
              window_right || value_dim || at_end || kv_lengths || page_table || page_size ||
              pages || q_starts || kv_starts || page_dtype || page_scales);
  r.options.page_dtype = dtype;
  Shape4 of_q{batch, heads, seq_q, head_dim}, of_kv{batch, r.kv_heads, seq_kv, head_dim};
  if (!r.plain) [[unlikely]] {
    check_options(call, r, soft_cap, window_left, window_right, value_dim, at_end);
    check_places(call, r, kv_lengths, page_table, page_size, pages, q_starts, kv_starts, page_dtype,
                 page_scales);
    check_mask(call, r, mask, mask_dtype);
    if (q_starts) of_q[0] = 1;
    if (kv_starts) of_kv[0] = 1;
    if (page_table) of_kv = {*pages, r.kv_heads, *page_size, head_dim};
  }
  Shape4 of_o = of_q, of_v = of_kv;
  of_o[3] = of_v[3] = r.value_dim;
  r.q = check_rows(call, "q", q, of_q, all_dims, dtype, Access::read, r.q_rows);
  r.k = check_rows(call, "k", k, of_kv, all_dims, r.options.page_dtype, Access::read, r.k_rows);
  r.v = check_rows(call, "v", v, of_v, all_dims, r.options.page_dtype, Access::read, r.v_rows);
  r.o = check_rows(call, "o", o, of_o, all_dims, dtype, Access::write, r.o_rows);
  call.apart("o", r.o, "q", r.q);
  call.apart("o", r.o, "k", r.k);
  call.apart("o", r.o, "v", r.v);
  if (!r.plain) [[unlikely]] {
    call.apart("o", r.o, "mask", r.options.mask);
    call.apart("o", r.o, "kv_lengths", r.options.kv_lengths);
    call.apart("o", r.o, "page_table", r.options.page_table);
    call.apart("o", r.o, "q_starts", r.options.q_starts);
    call.apart("o", r.o, "kv_starts", r.options.kv_starts);
    call.apart("o", r.o, "page_scales", r.options.page_scales);
    place_window(call, r, window_left, window_right, at_end);
  }
  call.checked();
  do_attention(r);
}

void Backend::attention_scores(const MapOperand& q, const MapOperand& keys,
                               const MapOperand& scores, Size seq, Size head_dim, double scale,
                               Size heads, std::optional<Size> kv_heads, DType dtype) {
  Call call(*state_, "attention_scores");
  call.not_negative("seq", seq);
  call.positive("head_dim", head_dim);
  call.positive("heads", heads);
  const float scale32 = check_scale(call, scale);
  call.float_dtype(dtype);
  AttentionScoresRequest r;
  r.kv_heads = check_kv_heads(call, heads, kv_heads);
  const Shape4 of_q{1, heads, 1, head_dim}, of_keys{1, r.kv_heads, seq, head_dim},
      of_scores{1, heads, 1, seq};
  r.q = check_rows(call, "q", q, of_q, heads_alone, dtype, Access::read, r.q_rows);
  r.keys = check_rows(call, "keys", keys, of_keys, without_batch, dtype, Access::read, r.key_rows);
  r.scores = check_rows(call, "scores", scores, of_scores, heads_alone, dtype, Access::write,
                        r.score_rows);
  call.apart("scores", r.scores, "q", r.q);
  call.apart("scores", r.scores, "keys", r.keys);
  r.heads = heads;
  r.seq = seq;
  r.head_dim = head_dim;
  r.scale = scale32;
  r.dtype = dtype;
  call.checked();
  if (seq != 0) do_attention_scores(r);
}

void Backend::weighted_sum(const MapOperand& weights, const MapOperand& rows,
                           const MapOperand& output, Size count, Size dim, Size heads,
                           std::optional<Size> kv_heads, DType dtype) {
  Call call(*state_, "weighted_sum");
  call.not_negative("count", count);
  call.positive("dim", dim);
  call.positive("heads", heads);
  call.float_dtype(dtype);
  WeightedSumRequest r{};
  r.kv_heads = check_kv_heads(call, heads, kv_heads);
  const Shape4 of_weights{1, heads, 1, count}, of_rows{1, r.kv_heads, count, dim},
      of_output{1, heads, 1, dim};
  r.weights = check_rows(call, "weights", weights, of_weights, heads_alone, dtype, Access::read,
                         r.weight_rows);
  r.rows = check_rows(call, "rows", rows, of_rows, without_batch, dtype, Access::read, r.row_rows);
  r.output = check_rows(call, "output", output, of_output, heads_alone, dtype, Access::write,
                        r.output_rows);
  call.apart("output", r.output, "weights", r.weights);
  call.apart("output", r.output, "rows", r.rows);
  r.heads = heads;
  r.count = count;
  r.dim = dim;
  r.dtype = dtype;
  call.checked();
  stand_in(r.weights);
  stand_in(r.rows);
  do_weighted_sum(r);
}

}  // namespace tilewright
