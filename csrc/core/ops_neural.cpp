#include <algorithm>
#include <cmath>

#include "core/call.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

namespace {

struct Conv2dArguments {
  const Shape4& input_shape;
  const Shape4& filter_shape;
  const Shape4& output_shape;
  const Pair& stride;
  const Pair& pad;
  const Pair& dilation;
  Size groups;
  DType dtype;
};

void check_out_size(const Call& call, std::string_view name, Size in, Size filter, Size pad,
                    Size stride, Size dilation, Size out) {
  const Size padded = call.add(in, call.mul(2, pad));
  const Size window = call.add(call.mul(dilation, filter - 1), 1);
  if (window > padded) {
    call.invalid(text("the filter spans ", window, " in ", name, " (dilation counted), more than ",
                      padded, ", the padded input"));
  }
  const Size expected = (padded - window) / stride + 1;
  if (out != expected) {
    call.invalid(text("output_shape has ", name, " ", out, ", expected ", expected));
  }
}

/// All but the buffers.
Conv2dRequest check_conv2d(const Call& call, const Conv2dArguments& x) {
  const auto& [n, c, h, w] = x.input_shape;
  const auto& [k, filter_c, r, s] = x.filter_shape;
  const auto& [out_n, out_k, p, q] = x.output_shape;
  call.not_negative("input_shape[0] (N)", n);
  call.positive("input_shape[1] (C)", c);
  call.positive("input_shape[2] (H)", h);
  call.positive("input_shape[3] (W)", w);
  call.positive("filter_shape[0] (K)", k);
  call.positive("filter_shape[1] (C / groups)", filter_c);
  call.positive("filter_shape[2] (R)", r);
  call.positive("filter_shape[3] (S)", s);
  call.positive("stride[0]", x.stride[0]);
  call.positive("stride[1]", x.stride[1]);
  call.not_negative("pad[0]", x.pad[0]);
  call.not_negative("pad[1]", x.pad[1]);
  call.positive("dilation[0]", x.dilation[0]);
  call.positive("dilation[1]", x.dilation[1]);
  call.positive("groups", x.groups);
  call.float_dtype(x.dtype);
  if (c % x.groups != 0) {
    call.invalid(
        text("groups is ", x.groups, ", expected a divisor of the ", c, " input channels"));
  }
  if (k % x.groups != 0) {
    call.invalid(text("groups is ", x.groups, ", expected a divisor of the ", k, " filters"));
  }
  if (filter_c != c / x.groups) {
    call.invalid(text("filter_shape[1] is ", filter_c, ", expected ", c / x.groups,
                      " (input channels / groups)"));
  }
  if (out_n != n) {
    call.invalid(text("output_shape[0] is ", out_n, ", expected ", n, " (N of the input)"));
  }
  if (out_k != k) {
    call.invalid(text("output_shape[1] is ", out_k, ", expected ", k, " (K of the filter)"));
  }
  check_out_size(call, "height", h, r, x.pad[0], x.stride[0], x.dilation[0], p);
  check_out_size(call, "width", w, s, x.pad[1], x.stride[1], x.dilation[1], q);
  Conv2dRequest request;
  request.batch = n;
  request.channels = c;
  request.height = h;
  request.width = w;
  request.filters = k;
  request.filter_height = r;
  request.filter_width = s;
  request.out_height = p;
  request.out_width = q;
  request.pad = x.pad;
  // Beyond the whole extent there is one output, or one tap, and no step to a next.
  const Pair extent{h + 2 * x.pad[0], w + 2 * x.pad[1]};
  for (std::size_t i = 0; i < 2; ++i) {
    request.stride[i] = std::min(x.stride[i], extent[i]);
    request.dilation[i] = std::min(x.dilation[i], extent[i]);
  }
  request.groups = x.groups;
  request.dtype = x.dtype;
  if (n == 0) {
    // No operand has the sizes of images that are not there.
    request.height = r;
    request.width = s;
    request.out_height = request.out_width = 1;
    request.stride = request.dilation = {1, 1};
    request.pad = {0, 0};
  }
  return request;
}

Size count(const Call& call, const Shape4& shape) {
  return call.product({shape[0], shape[1], shape[2], shape[3]});
}

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

void check_norm(const Call& call, Size rows, Size cols, double eps, DType dtype) {
  call.not_negative("rows", rows);
  call.not_negative("cols", cols);
  call.float_dtype(dtype);
  if (!(eps >= 0 && eps <= 3.0e38)) {
    call.invalid(text("eps is ", eps, ", expected a finite number, 0 or more"));
  }
}

}  // namespace

void Backend::conv2d_forward(Buffer input, const Shape4& input_shape, Buffer filter,
                             const Shape4& filter_shape, Buffer output, const Shape4& output_shape,
                             const Pair& stride, const Pair& pad, const Pair& dilation, Size groups,
                             std::optional<Buffer> bias, DType dtype) {
  Call call(*state_, "conv2d_forward");
  Conv2dRequest r = check_conv2d(
      call, {input_shape, filter_shape, output_shape, stride, pad, dilation, groups, dtype});
  r.input = call.buffer("input", input, count(call, input_shape), dtype);
  r.filter = call.buffer("filter", filter, count(call, filter_shape), dtype);
  r.output = call.buffer("output", output, count(call, output_shape), dtype);
  if (bias) {
    r.bias = call.buffer("bias", *bias, r.filters, dtype);
    call.distinct("output", output, "bias", *bias);
  }
  call.distinct("output", output, "input", input);
  call.distinct("output", output, "filter", filter);
  call.checked();
  if (r.batch != 0) do_conv2d_forward(r);
}

void Backend::conv2d_backward_data(Buffer grad_output, const Shape4& output_shape, Buffer filter,
                                   const Shape4& filter_shape, Buffer grad_input,
                                   const Shape4& input_shape, const Pair& stride, const Pair& pad,
                                   const Pair& dilation, Size groups, DType dtype) {
  Call call(*state_, "conv2d_backward_data");
  Conv2dRequest r = check_conv2d(
      call, {input_shape, filter_shape, output_shape, stride, pad, dilation, groups, dtype});
  r.output = call.buffer("grad_output", grad_output, count(call, output_shape), dtype);
  r.filter = call.buffer("filter", filter, count(call, filter_shape), dtype);
  r.input = call.buffer("grad_input", grad_input, count(call, input_shape), dtype);
  call.distinct("grad_input", grad_input, "grad_output", grad_output);
  call.distinct("grad_input", grad_input, "filter", filter);
  call.checked();
  if (r.batch != 0) do_conv2d_backward_data(r);
}

void Backend::conv2d_backward_filter(Buffer input, const Shape4& input_shape, Buffer grad_output,
                                     const Shape4& output_shape, Buffer grad_filter,
                                     const Shape4& filter_shape, const Pair& stride,
                                     const Pair& pad, const Pair& dilation, Size groups,
                                     DType dtype) {
  Call call(*state_, "conv2d_backward_filter");
  Conv2dRequest r = check_conv2d(
      call, {input_shape, filter_shape, output_shape, stride, pad, dilation, groups, dtype});
  r.input = call.buffer("input", input, count(call, input_shape), dtype);
  r.output = call.buffer("grad_output", grad_output, count(call, output_shape), dtype);
  r.filter = call.buffer("grad_filter", grad_filter, count(call, filter_shape), dtype);
  call.distinct("grad_filter", grad_filter, "input", input);
  call.distinct("grad_filter", grad_filter, "grad_output", grad_output);
  call.checked();
  stand_in(r.input);
  stand_in(r.output);
  do_conv2d_backward_filter(r);
}

void Backend::attention(Buffer q, Buffer k, Buffer v, Buffer o, Size batch, Size heads, Size seq_q,
                        Size seq_kv, Size head_dim, double scale, bool causal, Size q_offset,
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
  const Size of_q = call.product({batch, heads, seq_q, head_dim});
  const Size of_kv = call.product({batch, r.kv_heads, seq_kv, head_dim});
  r.q = call.buffer("q", q, of_q, dtype);
  r.k = call.buffer("k", k, of_kv, dtype);
  r.v = call.buffer("v", v, of_kv, dtype);
  r.o = call.buffer("o", o, of_q, dtype);
  call.distinct("o", o, "q", q);
  call.distinct("o", o, "k", k);
  call.distinct("o", o, "v", v);
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

void Backend::attention_scores(Buffer q, Buffer keys, Buffer scores, Size seq, Size head_dim,
                               double scale, Size heads, std::optional<Size> kv_heads,
                               DType dtype) {
  Call call(*state_, "attention_scores");
  call.not_negative("seq", seq);
  call.positive("head_dim", head_dim);
  call.positive("heads", heads);
  const float scale32 = check_scale(call, scale);
  call.float_dtype(dtype);
  AttentionScoresRequest r;
  r.kv_heads = check_kv_heads(call, heads, kv_heads);
  r.q = call.buffer("q", q, call.mul(heads, head_dim), dtype);
  r.keys = call.buffer("keys", keys, call.product({r.kv_heads, seq, head_dim}), dtype);
  r.scores = call.buffer("scores", scores, call.mul(heads, seq), dtype);
  call.distinct("scores", scores, "q", q);
  call.distinct("scores", scores, "keys", keys);
  r.heads = heads;
  r.seq = seq;
  r.head_dim = head_dim;
  r.scale = scale32;
  r.dtype = dtype;
  call.checked();
  if (seq != 0) do_attention_scores(r);
}

void Backend::weighted_sum(Buffer weights, Buffer rows, Buffer output, Size count, Size dim,
                           Size heads, std::optional<Size> kv_heads, DType dtype) {
  Call call(*state_, "weighted_sum");
  call.not_negative("count", count);
  call.positive("dim", dim);
  call.positive("heads", heads);
  call.float_dtype(dtype);
  WeightedSumRequest r;
  r.kv_heads = check_kv_heads(call, heads, kv_heads);
  r.weights = call.buffer("weights", weights, call.mul(heads, count), dtype);
  r.rows = call.buffer("rows", rows, call.product({r.kv_heads, count, dim}), dtype);
  r.output = call.buffer("output", output, call.mul(heads, dim), dtype);
  call.distinct("output", output, "weights", weights);
  call.distinct("output", output, "rows", rows);
  r.heads = heads;
  r.count = count;
  r.dim = dim;
  r.dtype = dtype;
  call.checked();
  stand_in(r.weights);
  stand_in(r.rows);
  do_weighted_sum(r);
}

void Backend::rmsnorm(Buffer x, Buffer weight, Buffer out, Size rows, Size cols, double eps,
                      DType dtype) {
  Call call(*state_, "rmsnorm");
  check_norm(call, rows, cols, eps, dtype);
  NormRequest r;
  r.x = call.buffer("x", x, call.mul(rows, cols), dtype);
  r.weight = call.buffer("weight", weight, cols, dtype);
  r.out = call.buffer("out", out, call.mul(rows, cols), dtype);
  call.distinct("out", out, "weight", weight);
  r.rows = rows;
  r.cols = cols;
  r.eps = static_cast<float>(eps);
  r.dtype = dtype;
  call.checked();
  if (rows != 0 && cols != 0) do_rmsnorm(r);
}

void Backend::layer_norm(Buffer x, Buffer weight, Buffer bias, Buffer out, Size rows, Size cols,
                         double eps, DType dtype) {
  Call call(*state_, "layer_norm");
  check_norm(call, rows, cols, eps, dtype);
  NormRequest r;
  r.x = call.buffer("x", x, call.mul(rows, cols), dtype);
  r.weight = call.buffer("weight", weight, cols, dtype);
  r.bias = call.buffer("bias", bias, cols, dtype);
  r.out = call.buffer("out", out, call.mul(rows, cols), dtype);
  call.distinct("out", out, "weight", weight);
  call.distinct("out", out, "bias", bias);
  r.rows = rows;
  r.cols = cols;
  r.eps = static_cast<float>(eps);
  r.dtype = dtype;
  call.checked();
  if (rows != 0 && cols != 0) do_layer_norm(r);
}

void Backend::rope(Buffer x, Buffer cos, Buffer sin, Buffer output, Size batch, Size heads,
                   Size seq, Size head_dim, Size table_rows, Size position, DType dtype) {
  Call call(*state_, "rope");
  call.not_negative("batch", batch);
  call.not_negative("heads", heads);
  call.not_negative("seq", seq);
  call.positive("head_dim", head_dim);
  if (head_dim % 2 != 0) call.invalid(text("head_dim is ", head_dim, ", expected an even number"));
  call.not_negative("table_rows", table_rows);
  call.not_negative("position", position);
  if (call.add(position, seq) > table_rows) {
    call.invalid(text("position ", position, " and seq ", seq, " reach past the ", table_rows,
                      " rows of cos and sin"));
  }
  call.float_dtype(dtype);
  RopeRequest r;
  const Size of_x = call.product({batch, heads, seq, head_dim});
  r.x = call.buffer("x", x, of_x, dtype);
  r.cos = call.buffer("cos", cos, call.mul(table_rows, head_dim / 2), dtype);
  r.sin = call.buffer("sin", sin, call.mul(table_rows, head_dim / 2), dtype);
  r.output = call.buffer("output", output, of_x, dtype);
  call.distinct("output", output, "cos", cos);
  call.distinct("output", output, "sin", sin);
  r.rows = of_x == 0 ? 0 : batch * heads;
  r.seq = seq;
  r.head_dim = head_dim;
  r.position = position;
  r.dtype = dtype;
  call.checked();
  if (of_x != 0) do_rope(r);
}

void Backend::gather(Buffer table, Buffer indices, Buffer output, Size table_rows, Size row_size,
                     Size count, DType dtype) {
  Call call(*state_, "gather");
  call.not_negative("table_rows", table_rows);
  call.not_negative("row_size", row_size);
  call.not_negative("count", count);
  call.float_dtype(dtype);
  GatherRequest r;
  r.table = call.buffer("table", table, call.mul(table_rows, row_size), dtype);
  r.indices = call.buffer("indices", indices, count, DType::int32);
  r.output = call.buffer("output", output, call.mul(count, row_size), dtype);
  call.distinct("output", output, "table", table);
  call.distinct("output", output, "indices", indices);
  r.table_rows = table_rows;
  r.row_size = row_size;
  r.count = count;
  r.dtype = dtype;
  call.checked();
  if (count == 0 || row_size == 0) return;
  stand_in(r.table);
  do_gather(r);
}

void Backend::scatter(Buffer source, Buffer indices, Buffer output, Size output_rows, Size row_size,
                      Size count, DType dtype) {
  Call call(*state_, "scatter");
  call.not_negative("output_rows", output_rows);
  call.not_negative("row_size", row_size);
  call.not_negative("count", count);
  call.float_dtype(dtype);
  ScatterRequest r;
  r.source = call.buffer("source", source, call.mul(count, row_size), dtype);
  r.indices = call.buffer("indices", indices, count, DType::int32);
  r.output = call.buffer("output", output, call.mul(output_rows, row_size), dtype);
  call.distinct("output", output, "source", source);
  call.distinct("output", output, "indices", indices);
  r.output_rows = output_rows;
  r.row_size = row_size;
  r.count = count;
  r.dtype = dtype;
  call.checked();
  if (count != 0 && row_size != 0 && output_rows != 0) do_scatter(r);
}

}  // namespace tilewright
