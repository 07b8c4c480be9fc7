#include <algorithm>
#include <cmath>

#include "core/call.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

namespace {

struct Conv2dArguments {
  ConvOp op;
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
  request.op = x.op;
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

/// Of ops that move rows as they are.
void check_rows(const Call& call, DType dtype) {
  if (dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16) return;
  call.invalid(text("dtype is ", to_string(dtype), ", expected float32, float16 or bfloat16"));
}

struct NormBuffers {
  Buffer x, out;
  std::optional<Buffer> weight, bias, residual, sum;
};

NormRequest check_norm(const Call& call, const NormBuffers& given, Size rows, Size cols, double eps,
                       DType dtype) {
  call.not_negative("rows", rows);
  call.not_negative("cols", cols);
  call.float_dtype(dtype);
  if (!(eps >= 0 && eps <= 3.0e38)) {
    call.invalid(text("eps is ", eps, ", expected a finite number, 0 or more"));
  }
  if (given.sum && !given.residual) {
    call.invalid("sum is given, expected a residual beside it");
  }
  NormRequest r;
  const Size elements = call.mul(rows, cols);
  r.x = call.buffer("x", given.x, elements, dtype);
  if (given.weight) r.weight = call.buffer("weight", *given.weight, cols, dtype);
  if (given.bias) r.bias = call.buffer("bias", *given.bias, cols, dtype);
  r.out = call.buffer("out", given.out, elements, dtype);
  call.apart_or_same("out", r.out, "x", r.x);
  call.apart("out", r.out, "weight", r.weight);
  call.apart("out", r.out, "bias", r.bias);
  if (given.residual) {
    r.residual = call.buffer("residual", *given.residual, elements, dtype);
    call.apart("out", r.out, "residual", r.residual);
  }
  if (given.sum) {
    r.sum = call.buffer("sum", *given.sum, elements, dtype);
    call.apart("sum", r.sum, "x", r.x);
    call.apart("sum", r.sum, "weight", r.weight);
    call.apart("sum", r.sum, "bias", r.bias);
    call.apart_or_same("sum", r.sum, "residual", r.residual);
    call.apart("sum", r.sum, "out", r.out);
  }
  r.rows = rows;
  r.cols = r.ldx = cols;
  r.eps = static_cast<float>(eps);
  r.dtype = dtype;
  return r;
}

}  // namespace

void Backend::conv2d_forward(Buffer input, const Shape4& input_shape, Buffer filter,
                             const Shape4& filter_shape, Buffer output, const Shape4& output_shape,
                             const Pair& stride, const Pair& pad, const Pair& dilation, Size groups,
                             std::optional<Buffer> bias, DType dtype, Activation activation,
                             double slope, std::optional<Buffer> addend) {
  Call call(*state_, "conv2d_forward");
  call.known("activation", activation);
  call.finite("slope", slope);
  Conv2dRequest r = check_conv2d(call, {ConvOp::forward, input_shape, filter_shape, output_shape,
                                        stride, pad, dilation, groups, dtype});
  r.input = call.buffer("input", input, count(call, input_shape), dtype);
  r.filter = call.buffer("filter", filter, count(call, filter_shape), dtype);
  r.output = call.buffer("output", output, count(call, output_shape), dtype);
  if (bias) {
    r.bias = call.buffer("bias", *bias, r.filters, dtype);
    call.apart("output", r.output, "bias", r.bias);
  }
  if (addend) {
    r.addend = call.buffer("addend", *addend, count(call, output_shape), dtype);
    call.apart("output", r.output, "addend", r.addend);
  }
  call.apart("output", r.output, "input", r.input);
  call.apart("output", r.output, "filter", r.filter);
  r.activation = activation;
  r.slope = activation == Activation::leaky_relu ? static_cast<float>(slope) : 0;
  call.checked();
  if (r.batch != 0) do_conv2d_forward(r);
}

void Backend::conv2d_backward_data(Buffer grad_output, const Shape4& output_shape, Buffer filter,
                                   const Shape4& filter_shape, Buffer grad_input,
                                   const Shape4& input_shape, const Pair& stride, const Pair& pad,
                                   const Pair& dilation, Size groups, DType dtype) {
  Call call(*state_, "conv2d_backward_data");
  Conv2dRequest r = check_conv2d(call, {ConvOp::backward_data, input_shape, filter_shape,
                                        output_shape, stride, pad, dilation, groups, dtype});
  r.output = call.buffer("grad_output", grad_output, count(call, output_shape), dtype);
  r.filter = call.buffer("filter", filter, count(call, filter_shape), dtype);
  r.input = call.buffer("grad_input", grad_input, count(call, input_shape), dtype);
  call.apart("grad_input", r.input, "grad_output", r.output);
  call.apart("grad_input", r.input, "filter", r.filter);
  call.checked();
  if (r.batch != 0) do_conv2d_backward_data(r);
}

void Backend::conv2d_backward_filter(Buffer input, const Shape4& input_shape, Buffer grad_output,
                                     const Shape4& output_shape, Buffer grad_filter,
                                     const Shape4& filter_shape, const Pair& stride,
                                     const Pair& pad, const Pair& dilation, Size groups,
                                     DType dtype) {
  Call call(*state_, "conv2d_backward_filter");
  Conv2dRequest r = check_conv2d(call, {ConvOp::backward_filter, input_shape, filter_shape,
                                        output_shape, stride, pad, dilation, groups, dtype});
  r.input = call.buffer("input", input, count(call, input_shape), dtype);
  r.output = call.buffer("grad_output", grad_output, count(call, output_shape), dtype);
  r.filter = call.buffer("grad_filter", grad_filter, count(call, filter_shape), dtype);
  call.apart("grad_filter", r.filter, "input", r.input);
  call.apart("grad_filter", r.filter, "grad_output", r.output);
  call.checked();
  stand_in(r.input);
  stand_in(r.output);
  do_conv2d_backward_filter(r);
}

void Backend::rmsnorm(Buffer x, std::optional<Buffer> weight, Buffer out, Size rows, Size cols,
                      double eps, DType dtype, std::optional<Buffer> residual,
                      std::optional<Buffer> sum) {
  Call call(*state_, "rmsnorm");
  const NormRequest r =
      check_norm(call, {x, out, weight, {}, residual, sum}, rows, cols, eps, dtype);
  call.checked();
  if (rows != 0 && cols != 0) do_rmsnorm(r);
}

void Backend::layer_norm(Buffer x, std::optional<Buffer> weight, std::optional<Buffer> bias,
                         Buffer out, Size rows, Size cols, double eps, DType dtype,
                         std::optional<Buffer> residual, std::optional<Buffer> sum) {
  Call call(*state_, "layer_norm");
  const NormRequest r =
      check_norm(call, {x, out, weight, bias, residual, sum}, rows, cols, eps, dtype);
  call.checked();
  if (rows != 0 && cols != 0) do_layer_norm(r);
}

void Backend::gather(Buffer table, Buffer indices, Buffer output, Size table_rows, Size row_size,
                     Size count, DType dtype) {
  Call call(*state_, "gather");
  call.not_negative("table_rows", table_rows);
  call.not_negative("row_size", row_size);
  call.not_negative("count", count);
  check_rows(call, dtype);
  GatherRequest r;
  r.table = call.buffer("table", table, call.mul(table_rows, row_size), dtype);
  r.indices = call.buffer("indices", indices, count, DType::int32);
  r.output = call.buffer("output", output, call.mul(count, row_size), dtype);
  call.apart("output", r.output, "table", r.table);
  call.apart("output", r.output, "indices", r.indices);
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
  check_rows(call, dtype);
  ScatterRequest r;
  r.source = call.buffer("source", source, call.mul(count, row_size), dtype);
  r.indices = call.buffer("indices", indices, count, DType::int32);
  r.output = call.buffer("output", output, call.mul(output_rows, row_size), dtype);
  call.apart("output", r.output, "source", r.source);
  call.apart("output", r.output, "indices", r.indices);
  r.output_rows = output_rows;
  r.row_size = row_size;
  r.count = count;
  r.dtype = dtype;
  call.checked();
  if (count != 0 && row_size != 0 && output_rows != 0) do_scatter(r);
}

}  // namespace tilewright
