#include "bindings/backend.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

using py::arg;

auto dtype() { return arg("dtype") = "float32"; }
auto optional(const char* name) { return arg(name) = py::none(); }
auto dilation() { return arg("dilation") = py::make_tuple(1, 1); }

void bind_linear_algebra(BackendClass& cls) {
  def_call(cls, "gemm", &Backend::gemm, "C = alpha * op(A) * op(B) + beta * C.", arg("trans_a"),
           arg("trans_b"), arg("m"), arg("n"), arg("k"), arg("alpha"), arg("a"), arg("lda"),
           arg("b"), arg("ldb"), arg("beta"), arg("c"), arg("ldc"), dtype(),
           optional("output_dtype"));
  def_call(cls, "batched_gemm", &Backend::batched_gemm,
           "batch_count products; matrix i starts i * stride elements into its buffer.",
           arg("trans_a"), arg("trans_b"), arg("m"), arg("n"), arg("k"), arg("alpha"), arg("a"),
           arg("lda"), arg("stride_a"), arg("b"), arg("ldb"), arg("stride_b"), arg("beta"),
           arg("c"), arg("ldc"), arg("stride_c"), arg("batch_count"), dtype(),
           optional("output_dtype"));
  def_call(cls, "gemm_f16", &Backend::gemm_f16, "gemm on float16 buffers, summed in float32.",
           arg("trans_a"), arg("trans_b"), arg("m"), arg("n"), arg("k"), arg("alpha"), arg("a"),
           arg("lda"), arg("b"), arg("ldb"), arg("beta"), arg("c"), arg("ldc"));
  def_call(cls, "gemm_mixed_precision", &Backend::gemm_mixed_precision,
           "gemm on float32 buffers whose A and B are rounded to `precision` first.",
           arg("precision"), arg("trans_a"), arg("trans_b"), arg("m"), arg("n"), arg("k"),
           arg("alpha"), arg("a"), arg("lda"), arg("b"), arg("ldb"), arg("beta"), arg("c"),
           arg("ldc"));
  def_call(cls, "matmul_vec", &Backend::matmul_vec,
           "out[rows] = matrix[rows, cols] * vector[cols].", arg("matrix"), arg("rows"),
           arg("cols"), arg("vector"), arg("out"), dtype());
}

void bind_convolution(BackendClass& cls) {
  def_call(cls, "conv2d_forward", &Backend::conv2d_forward,
           "output[N,K,P,Q] = input[N,C,H,W] * filter[K,C/groups,R,S] (+ bias[K]).", arg("input"),
           arg("input_shape"), arg("filter"), arg("filter_shape"), arg("output"),
           arg("output_shape"), arg("stride"), arg("pad"), dilation(), arg("groups") = 1,
           optional("bias"), dtype());
  def_call(cls, "conv2d_backward_data", &Backend::conv2d_backward_data,
           "grad_input from grad_output and filter.", arg("grad_output"), arg("output_shape"),
           arg("filter"), arg("filter_shape"), arg("grad_input"), arg("input_shape"), arg("stride"),
           arg("pad"), dilation(), arg("groups") = 1, dtype());
  def_call(cls, "conv2d_backward_filter", &Backend::conv2d_backward_filter,
           "grad_filter from input and grad_output.", arg("input"), arg("input_shape"),
           arg("grad_output"), arg("output_shape"), arg("grad_filter"), arg("filter_shape"),
           arg("stride"), arg("pad"), dilation(), arg("groups") = 1, dtype());
}

void bind_attention(BackendClass& cls) {
  def_call(cls, "attention", &Backend::attention, "o = softmax(scale * q k^T) v.", arg("q"),
           arg("k"), arg("v"), arg("o"), arg("batch"), arg("heads"), arg("seq_q"), arg("seq_kv"),
           arg("head_dim"), arg("scale"), arg("causal"), arg("q_offset") = 0, optional("kv_heads"),
           dtype());
  def_call(cls, "attention_scores", &Backend::attention_scores,
           "scores[heads, seq] = scale * keys[kv_heads, seq, head_dim] . q[heads, head_dim].",
           arg("q"), arg("keys"), arg("scores"), arg("seq"), arg("head_dim"), arg("scale"),
           arg("heads") = 1, optional("kv_heads"), dtype());
  def_call(cls, "weighted_sum", &Backend::weighted_sum,
           "output[heads, dim] = weights[heads, count] * rows[kv_heads, count, dim].",
           arg("weights"), arg("rows"), arg("output"), arg("count"), arg("dim"), arg("heads") = 1,
           optional("kv_heads"), dtype());
  def_call(cls, "rope", &Backend::rope,
           "Rotates the pairs (i, i + head_dim/2) of x[batch, heads, seq, head_dim].", arg("x"),
           arg("cos"), arg("sin"), arg("output"), arg("batch"), arg("heads"), arg("seq"),
           arg("head_dim"), arg("table_rows"), arg("position") = 0, dtype());
}

void bind_rows(BackendClass& cls) {
  def_call(cls, "softmax", &Backend::softmax, "Along one axis.", arg("input"), arg("output"),
           arg("shape"), arg("axis"), dtype());
  def_call(cls, "rmsnorm", &Backend::rmsnorm, "out = x * weight / sqrt(mean(x^2) + eps).", arg("x"),
           arg("weight"), arg("out"), arg("rows"), arg("cols"), arg("eps"), dtype());
  def_call(cls, "layer_norm", &Backend::layer_norm,
           "out = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias.", arg("x"), arg("weight"),
           arg("bias"), arg("out"), arg("rows"), arg("cols"), arg("eps"), dtype());
  def_call(cls, "gather", &Backend::gather,
           "output[i] = table[indices[i]]; an index outside gives a row of NaN.", arg("table"),
           arg("indices"), arg("output"), arg("table_rows"), arg("row_size"), arg("count"),
           dtype());
  def_call(cls, "scatter", &Backend::scatter,
           "output[indices[i]] = source[i]; an index outside is left out.", arg("source"),
           arg("indices"), arg("output"), arg("output_rows"), arg("row_size"), arg("count"),
           dtype());
}

void bind_elementwise(BackendClass& cls) {
  def_call(cls, "unary", &Backend::unary, "Exactly n elements.", arg("op"), arg("input"),
           arg("output"), arg("n"), dtype());
  def_call(cls, "silu", &Backend::silu, "unary with that op.", arg("input"), arg("output"),
           arg("n"), dtype());
  def_call(cls, "gelu", &Backend::gelu, "unary with that op.", arg("input"), arg("output"),
           arg("n"), dtype());
  def_call(cls, "binary", &Backend::binary, "Exactly n elements.", arg("op"), arg("a"), arg("b"),
           arg("output"), arg("n"), dtype());
  def_call(cls, "binary_scalar", &Backend::binary_scalar,
           "binary with a number in place of b, or of a.", arg("op"), arg("a"), arg("scalar"),
           arg("output"), arg("n"), arg("scalar_first") = false, dtype());
  def_call(cls, "binary_broadcast", &Backend::binary_broadcast,
           "binary over a shape; a stride of 0 broadcasts a dimension.", arg("op"), arg("a"),
           arg("a_strides"), arg("b"), arg("b_strides"), arg("output"), arg("shape"), dtype());
  def_call(cls, "reduce", &Backend::reduce, "Reduces one axis, which the output lacks.", arg("op"),
           arg("input"), arg("output"), arg("shape"), arg("axis"), dtype());
  def_call(cls, "cast", &Backend::cast, "Converts n elements to float32 or float16.", arg("input"),
           arg("from_"), arg("output"), arg("to"), arg("n"));
}

}  // namespace

void bind_ops(BackendClass& cls) {
  bind_linear_algebra(cls);
  bind_convolution(cls);
  bind_attention(cls);
  bind_rows(cls);
  bind_elementwise(cls);
}

}  // namespace tilewright::bindings
