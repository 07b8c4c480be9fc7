#include <algorithm>
#include <array>
#include <cmath>

#include "core/call.hpp"
#include "core/map_operands.hpp"
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

/// Dimensions of [batch, heads, seq, head_dim] that an operand has.
using Dims = std::span<const std::size_t>;
constexpr std::array<std::size_t, 4> all_dims{0, 1, 2, 3};
constexpr std::array<std::size_t, 3> without_batch{1, 2, 3};
constexpr std::array<std::size_t, 2> heads_alone{1, 3};

/// What an operand touches, and how its rows lie there.
BufferRange check_rows(const Call& call, std::string_view name, const MapOperand& operand,
                       const Shape4& shape, Dims dims, DType dtype, Access access, HeadRows& rows) {
  const Size elements = call.product({shape[0], shape[1], shape[2], shape[3]});
  std::array<Size, 3> steps{};
  const auto finish = [&](const auto& step_of) {
    Size within = shape[3];
    for (std::size_t dim = steps.size(); dim-- > 0;) {
      steps[dim] = shape[dim] == 1 ? within : step_of(dim, within);
      within = steps[dim] * shape[dim];
    }
    rows = {steps[0], steps[1], steps[2]};
  };
  if (operand.strides.empty() && operand.offset == 0) {
    finish([](std::size_t, Size within) { return within; });
    return call.buffer(name, operand.buffer, elements, dtype);
  }
  // Strides may leave out dimensions in front that have a single place.
  const std::size_t given = operand.strides.size();
  const std::size_t left_out = given < dims.size() && given > 0 ? dims.size() - given : 0;
  const auto single = [&](std::size_t dim) { return shape[dim] == 1; };
  if (std::ranges::all_of(dims.first(left_out), single)) dims = dims.subspan(left_out);
  std::array<Size, 4> sizes;
  for (std::size_t i = 0; i < dims.size(); ++i) sizes[i] = shape[dims[i]];
  const std::span<const Size> own_shape = std::span(sizes).first(dims.size());
  const RowStrides by_rows(own_shape);
  const auto checked = check_operand(call, name, operand, own_shape, by_rows, dtype,
                                     access != Access::read, "its shape");
  if (!checked) return {};
  const std::span<const Size> strides = by_rows.of(operand);
  const auto refuse = [&](std::size_t i, std::string_view expected) {
    call.invalid(text(name, ".strides[", i, "] is ", strides[i], ", expected ", expected,
                      "; copy it to where its rows lie so"));
  };
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    if (sizes[i] > 1 && strides[i] < 0) refuse(i, "0 or more");
  }
  if (shape[3] > 1 && strides.back() != 1) refuse(dims.size() - 1, "1, the elements side by side");
  finish([&](std::size_t dim, Size) {
    std::size_t i = 0;
    while (dims[i] != dim) ++i;
    return strides[i];
  });
  const auto [first, past] = checked->place;
  return {checked->operand.allocation, static_cast<std::uint64_t>(first),
          static_cast<std::uint64_t>(past - first)};
}

}  // namespace

void Backend::attention(const MapOperand& q, const MapOperand& k, const MapOperand& v,
                        const MapOperand& o, Size batch, Size heads, Size seq_q, Size seq_kv,
                        Size head_dim, double scale, bool causal, Size q_offset,
                        std::optional<Size> kv_heads, DType dtype) {
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
  const Shape4 of_q{batch, heads, seq_q, head_dim}, of_kv{batch, r.kv_heads, seq_kv, head_dim};
  r.q = check_rows(call, "q", q, of_q, all_dims, dtype, Access::read, r.q_rows);
  r.k = check_rows(call, "k", k, of_kv, all_dims, dtype, Access::read, r.k_rows);
  r.v = check_rows(call, "v", v, of_kv, all_dims, dtype, Access::read, r.v_rows);
  r.o = check_rows(call, "o", o, of_q, all_dims, dtype, Access::write, r.o_rows);
  call.apart("o", r.o, "q", r.q);
  call.apart("o", r.o, "k", r.k);
  call.apart("o", r.o, "v", r.v);
  r.batch = batch;
  r.heads = heads;
  r.seq_q = seq_q;
  r.seq_kv = seq_kv;
  r.head_dim = head_dim;
  r.scale = scale32;
  r.causal = causal;
  r.q_offset = q_offset;
  r.dtype = dtype;
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
