#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "recording_backend.hpp"

namespace tilewright {
namespace {

/// A convolution that is right: 2x4x5x6 by 6x2x3x3 in two groups, stride 2x1, pad 1x0.
struct Conv {
  Shape4 input{2, 4, 5, 6}, filter{6, 2, 3, 3}, output{2, 6, 3, 4};
  Pair stride{2, 1}, pad{1, 0}, dilation{1, 1};
  Size groups = 2;
  DType dtype = DType::float32;
};

struct ConvBuffers {
  explicit ConvBuffers(RecordingBackend& be)
      : input(be.floats(240)), filter(be.floats(108)), output(be.floats(144)), bias(be.floats(6)) {}
  Buffer input, filter, output, bias;

  void forward(Backend& be, const Conv& x) const {
    be.conv2d_forward(input, x.input, filter, x.filter, output, x.output, x.stride, x.pad,
                      x.dilation, x.groups, bias, x.dtype);
  }
  void backward_data(Backend& be, const Conv& x) const {
    be.conv2d_backward_data(output, x.output, filter, x.filter, input, x.input, x.stride, x.pad,
                            x.dilation, x.groups, x.dtype);
  }
  void backward_filter(Backend& be, const Conv& x) const {
    be.conv2d_backward_filter(input, x.input, output, x.output, filter, x.filter, x.stride, x.pad,
                              x.dilation, x.groups, x.dtype);
  }
};

TEST_CASE("conv2d: the request is what was asked for, forward and backward") {
  RecordingBackend be;
  const ConvBuffers buffers(be);
  be.forget();
  buffers.forward(be, {});
  buffers.backward_data(be, {});
  buffers.backward_filter(be, {});
  CHECK(be.calls == std::vector<std::string>{"do_conv2d_forward", "do_conv2d_backward_data",
                                             "do_conv2d_backward_filter"});
  for (const auto& request : be.requests) {
    const auto& r = std::any_cast<const Conv2dRequest&>(request);
    CHECK(Shape4{r.batch, r.channels, r.height, r.width} == Conv{}.input);
    CHECK(Shape4{r.batch, r.filters, r.out_height, r.out_width} == Conv{}.output);
    CHECK(Pair{r.filter_height, r.filter_width} == Pair{3, 3});
    CHECK(r.stride == Pair{2, 1});
    CHECK(r.pad == Pair{1, 0});
    CHECK(r.dilation == Pair{1, 1});
    CHECK(r.groups == 2);
    CHECK(r.input.bytes == 960);
    CHECK(r.filter.bytes == 432);
    CHECK(r.output.bytes == 576);
  }
  CHECK(be.request<Conv2dRequest>(0).bias != nullptr);
  CHECK(be.request<Conv2dRequest>(1).bias == nullptr);
}

TEST_CASE("conv2d: what no operand has the size of is as small as it can be") {
  RecordingBackend be;
  const ConvBuffers buffers(be);
  be.forget();
  constexpr Size most = std::numeric_limits<Size>::max();
  // One row of outputs: nothing is one stride away.
  buffers.forward(be, {.output = {2, 6, 1, 4}, .stride = {most, 1}});
  const auto& one_row = be.request<Conv2dRequest>(0);
  CHECK(one_row.stride == Pair{7, 1});
  // No images, of any size.
  buffers.backward_filter(be, {.input = {0, 4, 5, most / 2}, .output = {0, 6, 3, most / 2 - 2}});
  const auto& no_images = be.request<Conv2dRequest>(1);
  CHECK(Shape4{no_images.batch, 4, no_images.height, no_images.width} == Shape4{0, 4, 3, 3});
  CHECK(Pair{no_images.out_height, no_images.out_width} == Pair{1, 1});
  CHECK(no_images.stride == Pair{1, 1});
}

TEST_CASE("conv2d: every size is checked by every direction") {
  RecordingBackend be;
  const ConvBuffers buffers(be);
  const auto refused = [&](const Conv& x, const char* words) {
    CAPTURE(words);
    CHECK_REFUSED(be, buffers.forward(be, x), words);
    CHECK_REFUSED(be, buffers.backward_data(be, x), words);
    CHECK_REFUSED(be, buffers.backward_filter(be, x), words);
  };
  refused({.input = {-1, 4, 5, 6}}, "input_shape[0] (N) is -1, expected 0 or more");
  refused({.input = {2, 0, 5, 6}}, "input_shape[1] (C) is 0, expected 1 or more");
  refused({.input = {2, 4, 0, 6}}, "input_shape[2] (H) is 0");
  refused({.input = {2, 4, 5, 0}}, "input_shape[3] (W) is 0");
  refused({.filter = {0, 2, 3, 3}}, "filter_shape[0] (K) is 0");
  refused({.filter = {6, 0, 3, 3}}, "filter_shape[1] (C / groups) is 0");
  refused({.filter = {6, 2, 0, 3}}, "filter_shape[2] (R) is 0");
  refused({.filter = {6, 2, 3, 0}}, "filter_shape[3] (S) is 0");
  refused({.stride = {0, 1}}, "stride[0] is 0, expected 1 or more");
  refused({.stride = {2, 0}}, "stride[1] is 0, expected 1 or more");
  refused({.pad = {-1, 0}}, "pad[0] is -1, expected 0 or more");
  refused({.pad = {1, -1}}, "pad[1] is -1, expected 0 or more");
  refused({.dilation = {0, 1}}, "dilation[0] is 0, expected 1 or more");
  refused({.dilation = {1, 0}}, "dilation[1] is 0, expected 1 or more");
  refused({.groups = 0}, "groups is 0, expected 1 or more");
  refused({.groups = 3}, "groups is 3, expected a divisor of the 4 input channels");
  refused({.groups = 4}, "groups is 4, expected a divisor of the 6 filters");
  refused({.groups = 1}, "filter_shape[1] is 2, expected 4 (input channels / groups)");
  refused({.output = {3, 6, 3, 4}}, "output_shape[0] is 3, expected 2");
  refused({.output = {2, 5, 3, 4}}, "output_shape[1] is 5, expected 6");
  refused({.output = {2, 6, 4, 4}}, "output_shape has height 4, expected 3");
  refused({.output = {2, 6, 3, 5}}, "output_shape has width 5, expected 4");
  refused({.dilation = {4, 1}}, "the filter spans 9 in height (dilation counted), more than 7");
  refused({.dilation = {1, 3}}, "the filter spans 7 in width");
  refused({.pad = {most, 0}}, "more than 64 bits can count");
  refused({.dilation = {most, 1}}, "more than 64 bits can count");
  refused({.dtype = DType::int32}, "dtype is int32");
}

TEST_CASE("conv2d: buffers are large enough and apart") {
  RecordingBackend be;
  const ConvBuffers good(be);
  const auto with = [&](Buffer ConvBuffers::* which, Buffer other) {
    ConvBuffers changed = good;
    changed.*which = other;
    return changed;
  };
  const Buffer small = be.floats(5);
  CHECK_REFUSED(be, with(&ConvBuffers::input, small).forward(be, {}),
                "conv2d_forward: input holds 20 bytes, expected at least 960");
  CHECK_REFUSED(be, with(&ConvBuffers::filter, small).forward(be, {}), "filter holds 20 bytes");
  CHECK_REFUSED(be, with(&ConvBuffers::output, small).forward(be, {}), "output holds 20 bytes");
  CHECK_REFUSED(be, with(&ConvBuffers::bias, small).forward(be, {}), "bias holds 20 bytes");
  CHECK_REFUSED(be, with(&ConvBuffers::output, good.input).forward(be, {}),
                "output overlaps input");
  CHECK_REFUSED(be, with(&ConvBuffers::input, small).backward_data(be, {}),
                "conv2d_backward_data: grad_input holds 20 bytes");
  CHECK_REFUSED(be, with(&ConvBuffers::output, good.input).backward_data(be, {}),
                "grad_input overlaps grad_output");
  CHECK_REFUSED(be, with(&ConvBuffers::filter, small).backward_filter(be, {}),
                "conv2d_backward_filter: grad_filter holds 20 bytes");
  CHECK_REFUSED(be, with(&ConvBuffers::filter, good.input).backward_filter(be, {}),
                "grad_filter overlaps input");
}

TEST_CASE("conv2d: an empty batch is nothing to do, but a filter gradient of zeros") {
  RecordingBackend be;
  const ConvBuffers buffers(be);
  const Conv empty{.input = {0, 4, 5, 6}, .output = {0, 6, 3, 4}};
  CHECK_NOTHING_TO_DO(be, buffers.forward(be, empty));
  CHECK_NOTHING_TO_DO(be, buffers.backward_data(be, empty));
  buffers.backward_filter(be, empty);
  CHECK(be.only<Conv2dRequest>().batch == 0);
}

/// An attention that is right: q 2x4x3x8, k and v 2x2x5x8.
struct Attention {
  Size batch = 2, heads = 4, seq_q = 3, seq_kv = 5, head_dim = 8;
  double scale = 0.5;
  bool causal = true;
  Size q_offset = 2;
  std::optional<Size> kv_heads = 2;
  DType dtype = DType::float32;

  void operator()(Backend& be, Buffer q, Buffer k, Buffer v, Buffer o) const {
    be.attention(q, k, v, o, batch, heads, seq_q, seq_kv, head_dim, scale, causal, q_offset,
                 kv_heads, dtype);
  }
};

TEST_CASE("attention: request and checks") {
  RecordingBackend be;
  const Buffer q = be.floats(192), k = be.floats(160), v = be.floats(160), o = be.floats(192);
  Attention{}(be, q, k, v, o);
  const auto& r = be.only<AttentionRequest>();
  CHECK(r.batch == 2);
  CHECK(r.heads == 4);
  CHECK(r.kv_heads == 2);
  CHECK(r.seq_q == 3);
  CHECK(r.seq_kv == 5);
  CHECK(r.head_dim == 8);
  CHECK(r.scale == 0.5f);
  CHECK(r.causal);
  CHECK(r.q_offset == 2);
  const auto refused = [&](const Attention& x, const char* words) {
    CHECK_REFUSED(be, x(be, q, k, v, o), words);
  };
  refused({.batch = 0}, "attention: batch is 0, expected 1 or more");
  refused({.heads = 0}, "heads is 0, expected 1 or more");
  refused({.seq_q = 0}, "seq_q is 0, expected 1 or more");
  refused({.seq_kv = 0}, "seq_kv is 0, expected 1 or more");
  refused({.head_dim = -8}, "head_dim is -8, expected 1 or more");
  refused({.scale = 0}, "scale is 0, expected a finite number above 0");
  refused({.scale = NAN}, "scale is nan");
  refused({.q_offset = -1}, "q_offset is -1, expected 0 or more");
  refused({.q_offset = most}, "more than 64 bits can count");
  refused({.kv_heads = 3}, "kv_heads is 3, expected a divisor of heads 4");
  refused({.kv_heads = 0}, "kv_heads is 0, expected 1 or more");
  refused({.kv_heads = std::nullopt}, "k holds 640 bytes, expected at least 1280");
  refused({.seq_q = 4}, "q holds 768 bytes, expected at least 1024");
  refused({.dtype = DType::int32}, "dtype is int32");
  CHECK_REFUSED(be, Attention{}(be, q, k, q, q), "o overlaps q");
  CHECK_REFUSED(be, Attention{}(be, q, o, v, o), "o overlaps k");
  CHECK_REFUSED(be, Attention{}(be, q, k, o, o), "o overlaps v");
}

TEST_CASE("attention: options that say nothing are the plain call") {
  RecordingBackend be;
  const Buffer q = be.floats(2 * 3 * 8), k = be.floats(2 * 5 * 8), o = be.floats(2 * 3 * 8);
  const auto none = std::nullopt;
  const auto attend = [&](bool causal, Size q_offset, std::optional<Size> left,
                          std::optional<Size> right, bool at_end) {
    be.forget();
    be.attention(q, k, k, o, 1, 2, 3, 5, 8, 0.5, causal, q_offset, 2, DType::float32, none,
                 DType::boolean, 0, left, right, none, at_end);
    return be.only<AttentionRequest>();
  };
  const AttentionRequest all = attend(false, 0, 2, 4, false);
  CHECK(all.plain);
  CHECK_FALSE(all.causal);
  const AttentionRequest last = attend(true, 0, most, none, true);
  CHECK(last.plain);
  CHECK(last.causal);
  CHECK(last.q_offset == 2);
  const AttentionRequest behind = attend(false, 0, none, 1, false);
  CHECK(behind.plain);
  CHECK(behind.causal);
  CHECK(behind.q_offset == 1);
  const AttentionRequest window = attend(true, 2, 1, none, false);
  CHECK_FALSE(window.plain);
  CHECK(window.options.low == 1);
  CHECK(window.options.high == 2);
  const AttentionRequest far = attend(false, most - 3, most, most, false);
  CHECK(far.options.low == -3);
  CHECK(far.options.high == 8);
}

TEST_CASE("attention_scores: request and checks") {
  RecordingBackend be;
  const Buffer q = be.floats(32), keys = be.floats(80), scores = be.floats(20);
  be.attention_scores(q, keys, scores, 5, 8, 0.5, 4, 2);
  const auto& r = be.only<AttentionScoresRequest>();
  CHECK(r.heads == 4);
  CHECK(r.kv_heads == 2);
  CHECK(r.seq == 5);
  CHECK(r.head_dim == 8);
  CHECK(r.scale == 0.5f);
  CHECK_REFUSED(be, be.attention_scores(q, keys, scores, -5, 8, 1), "attention_scores: seq is -5");
  CHECK_REFUSED(be, be.attention_scores(q, keys, scores, 5, 0, 1), "head_dim is 0");
  CHECK_REFUSED(be, be.attention_scores(q, keys, scores, 5, 8, -1), "scale is -1");
  CHECK_REFUSED(be, be.attention_scores(q, keys, scores, 5, 8, 1, 0), "heads is 0");
  CHECK_REFUSED(be, be.attention_scores(q, keys, scores, 5, 8, 1, 4, 3), "kv_heads is 3");
  CHECK_REFUSED(be, be.attention_scores(q, keys, scores, 5, 8, 1, 4), "keys holds 320 bytes");
  CHECK_REFUSED(be, be.attention_scores(q, keys, q, 5, 4, 1, 4), "scores overlaps q");
  CHECK_REFUSED(be, be.attention_scores(q, keys, keys, 5, 4, 1, 4), "scores overlaps");
  CHECK_NOTHING_TO_DO(be, be.attention_scores(q, keys, scores, 0, 8, 1, 4));
}

TEST_CASE("weighted_sum: request and checks") {
  RecordingBackend be;
  const Buffer weights = be.floats(20), rows = be.floats(80), output = be.floats(32);
  be.weighted_sum(weights, rows, output, 5, 8, 4, 2);
  const auto& r = be.only<WeightedSumRequest>();
  CHECK(r.heads == 4);
  CHECK(r.kv_heads == 2);
  CHECK(r.count == 5);
  CHECK(r.dim == 8);
  CHECK_REFUSED(be, be.weighted_sum(weights, rows, output, -1, 8), "weighted_sum: count is -1");
  CHECK_REFUSED(be, be.weighted_sum(weights, rows, output, 5, 0), "dim is 0");
  CHECK_REFUSED(be, be.weighted_sum(weights, rows, output, 5, 8, 4), "rows holds 320 bytes");
  CHECK_REFUSED(be, be.weighted_sum(weights, rows, rows, 5, 4, 4), "output overlaps");
  be.forget();
  // No rows sum to zero, which has to be written.
  be.weighted_sum(weights, rows, output, 0, 8, 4);
  CHECK(be.only<WeightedSumRequest>().count == 0);
}

TEST_CASE("rmsnorm and layer_norm: requests and checks") {
  RecordingBackend be;
  const Buffer x = be.floats(12), w = be.floats(4), b = be.floats(4), small = be.floats(3);
  be.rmsnorm(x, w, x, 3, 4, 1e-5);
  CHECK(be.only<NormRequest>().rows == 3);
  CHECK(be.only<NormRequest>().cols == 4);
  CHECK(be.only<NormRequest>().eps == 1e-5f);
  CHECK(be.only<NormRequest>().bias == nullptr);
  CHECK(be.calls.back() == "do_rmsnorm");
  be.forget();
  be.layer_norm(x, w, b, x, 3, 4, 0);
  CHECK(be.only<NormRequest>().bias != nullptr);
  CHECK(be.calls.back() == "do_layer_norm");
  for (double wrong : {-1e-5, HUGE_VAL, double{NAN}, 1e39}) {
    CHECK_REFUSED(be, be.rmsnorm(x, w, x, 3, 4, wrong), "expected a finite number, 0 or more");
    CHECK_REFUSED(be, be.layer_norm(x, w, b, x, 3, 4, wrong), "layer_norm: eps is");
  }
  CHECK_REFUSED(be, be.rmsnorm(x, w, x, -3, 4, 0), "rmsnorm: rows is -3");
  CHECK_REFUSED(be, be.rmsnorm(x, w, x, 3, -4, 0), "rmsnorm: cols is -4");
  CHECK_REFUSED(be, be.rmsnorm(x, w, x, 4, 4, 0), "x holds 48 bytes, expected at least 64");
  CHECK_REFUSED(be, be.rmsnorm(x, small, x, 3, 4, 0), "weight holds 12 bytes");
  CHECK_REFUSED(be, be.rmsnorm(x, w, w, 1, 4, 0), "out overlaps weight");
  CHECK_REFUSED(be, be.layer_norm(x, w, small, x, 3, 4, 0), "bias holds 12 bytes");
  CHECK_REFUSED(be, be.layer_norm(x, w, b, b, 1, 4, 0), "out overlaps bias");
  CHECK_NOTHING_TO_DO(be, be.rmsnorm(x, w, x, 0, 4, 0));
  CHECK_NOTHING_TO_DO(be, be.layer_norm(x, w, b, x, 3, 0, 0));
}

TEST_CASE("rope: request and checks") {
  RecordingBackend be;
  const Buffer x = be.floats(2 * 3 * 4 * 6), table = be.floats(10 * 3),
               y = be.floats(2 * 3 * 4 * 6);
  const auto rope = [&](Size head_dim, Size table_rows, Size position) {
    be.rope(x, table, table, y, 2, 3, 4, head_dim, table_rows, position);
  };
  rope(6, 10, 6);
  const auto& r = be.only<RopeRequest>();
  CHECK(r.batch == 2);
  CHECK(r.heads == 3);
  CHECK(r.seq == 4);
  CHECK(r.head_dim == 6);
  CHECK(r.position == 6);
  CHECK_REFUSED(be, rope(5, 10, 0), "rope: head_dim is 5, expected an even number");
  CHECK_REFUSED(be, rope(0, 10, 0), "head_dim is 0, expected 1 or more");
  CHECK_REFUSED(be, rope(6, 10, 7), "position 7 and seq 4 reach past the 10 rows of cos and sin");
  CHECK_REFUSED(be, rope(6, 10, -1), "position is -1");
  CHECK_REFUSED(be, rope(6, 10, most), "more than 64 bits can count");
  CHECK_REFUSED(be, rope(6, 11, 0), "cos holds 120 bytes, expected at least 132");
  CHECK_REFUSED(be, be.rope(x, table, table, table, 1, 1, 1, 6, 10), "output overlaps");
  CHECK_REFUSED(be, be.rope(x, table, table, y, -2, 3, 4, 6, 10), "batch is -2");
  CHECK_NOTHING_TO_DO(be, be.rope(x, table, table, y, 0, 3, 4, 6, 10));
  CHECK_NOTHING_TO_DO(be, be.rope(x, table, table, y, 2, 3, 0, 6, 10));
}

TEST_CASE("gather and scatter: requests and checks") {
  RecordingBackend be;
  const Buffer big = be.floats(20), few = be.floats(8), indices = be.alloc(8);
  be.gather(big, indices, few, 5, 4, 2);
  CHECK(be.only<GatherRequest>().table_rows == 5);
  CHECK(be.only<GatherRequest>().row_size == 4);
  CHECK(be.only<GatherRequest>().count == 2);
  be.forget();
  be.scatter(few, indices, big, 5, 4, 2);
  CHECK(be.only<ScatterRequest>().output_rows == 5);
  CHECK(be.only<ScatterRequest>().row_size == 4);
  CHECK(be.only<ScatterRequest>().count == 2);
  CHECK_REFUSED(be, be.gather(big, indices, few, -5, 4, 2), "gather: table_rows is -5");
  CHECK_REFUSED(be, be.gather(big, indices, few, 5, -4, 2), "gather: row_size is -4");
  CHECK_REFUSED(be, be.gather(big, indices, few, 5, 4, -2), "gather: count is -2");
  CHECK_REFUSED(be, be.gather(big, indices, few, 6, 4, 2), "table holds 80 bytes");
  CHECK_REFUSED(be, be.gather(big, indices, few, 5, 4, 3),
                "indices holds 8 bytes, expected at least 12 (3 elements of int32)");
  CHECK_REFUSED(be, be.gather(big, indices, few, 4, 5, 2), "output holds 32 bytes");
  CHECK_REFUSED(be, be.gather(big, indices, big, 5, 4, 2), "output overlaps table");
  CHECK_REFUSED(be, be.gather(big, indices, indices, 5, 1, 2), "output overlaps ind");
  CHECK_REFUSED(be, be.scatter(few, indices, big, 6, 4, 2), "scatter: output holds 80 bytes");
  CHECK_REFUSED(be, be.scatter(few, indices, big, 5, 4, 3), "source holds 32 bytes");
  CHECK_REFUSED(be, be.scatter(few, indices, few, 2, 4, 2), "output overlaps source");
  CHECK_REFUSED(be, be.scatter(few, indices, big, 5, 4, 2, DType::int32), "dtype is int32");
  CHECK_NOTHING_TO_DO(be, be.gather(big, indices, few, 5, 4, 0));
  CHECK_NOTHING_TO_DO(be, be.gather(big, indices, few, 5, 0, 2));
  CHECK_NOTHING_TO_DO(be, be.scatter(few, indices, big, 5, 4, 0));
  CHECK_NOTHING_TO_DO(be, be.scatter(few, indices, big, 0, 4, 2));
  be.forget();
  // A table without rows makes every index a wrong one, which gives NaN.
  be.gather(big, indices, few, 0, 4, 2);
  CHECK(be.only<GatherRequest>().table_rows == 0);
}

}  // namespace
}  // namespace tilewright
