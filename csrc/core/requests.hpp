#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tilewright/kernel.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

/// What a backend keeps behind a handle. Lives until the handle is freed and nothing uses it.
class Allocation {
 public:
  explicit Allocation(std::uint64_t bytes) : bytes_(bytes) {}
  virtual ~Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_;
};

using AllocationRef = std::shared_ptr<Allocation>;

/// What a backend keeps behind a kernel's handle, with what its launches are held against.
class CompiledKernel {
 public:
  CompiledKernel(KernelInfo info, std::uint64_t max_binding_bytes, std::uint32_t max_groups)
      : info_(std::move(info)), max_binding_bytes_(max_binding_bytes), max_groups_(max_groups) {}
  virtual ~CompiledKernel() = default;
  CompiledKernel(const CompiledKernel&) = delete;
  CompiledKernel& operator=(const CompiledKernel&) = delete;

  const KernelInfo& info() const { return info_; }
  std::uint64_t max_binding_bytes() const { return max_binding_bytes_; }
  /// Workgroups in a dimension of the grid.
  std::uint32_t max_groups() const { return max_groups_; }

 private:
  KernelInfo info_;
  std::uint64_t max_binding_bytes_;
  std::uint32_t max_groups_;
};

using KernelRef = std::shared_ptr<CompiledKernel>;

// Checked requests, as implementations get them. References hold their allocations alive for as
// long as the request is kept.

struct GemmRequest {
  std::string_view op;  ///< the call it came from
  bool trans_a, trans_b;
  Size m, n, k;
  float alpha;
  AllocationRef a;
  Size lda;
  AllocationRef b;
  Size ldb;
  float beta;
  AllocationRef c;
  Size ldc;
  Size stride_a, stride_b, stride_c, batch_count;  ///< batch_count is 1 and strides 0 for gemm
  DType dtype, output_dtype;
  std::optional<Precision> rounding;  ///< of A and B, for float32 inputs
};

struct MatmulVecRequest {
  AllocationRef matrix;
  Size rows, cols;
  AllocationRef vector, out;
  DType dtype;
};

struct Conv2dRequest {
  Size batch, channels, height, width;        ///< N C H W
  Size filters, filter_height, filter_width;  ///< K R S; a filter has channels / groups channels
  Size out_height, out_width;                 ///< P Q
  Pair stride, pad, dilation;
  Size groups;
  AllocationRef input;   ///< grad_input for backward_data
  AllocationRef filter;  ///< grad_filter for backward_filter
  AllocationRef output;  ///< grad_output for both backward ops
  AllocationRef bias;    ///< may be null; forward only
  DType dtype;
};

struct AttentionRequest {
  AllocationRef q, k, v, o;
  Size batch, heads, kv_heads, seq_q, seq_kv, head_dim;
  float scale;
  bool causal;
  Size q_offset;
  DType dtype;
};

struct AttentionScoresRequest {
  AllocationRef q, keys, scores;
  Size heads, kv_heads, seq, head_dim;
  float scale;
  DType dtype;
};

struct WeightedSumRequest {
  AllocationRef weights, rows, output;
  Size heads, kv_heads, count, dim;
  DType dtype;
};

/// The tensor as [outer, length, inner], normalised along length.
struct SoftmaxRequest {
  AllocationRef input, output;
  Size outer, length, inner;
  DType dtype;
};

struct NormRequest {
  AllocationRef x, weight, bias, out;  ///< bias is null for rmsnorm
  Size rows, cols;
  float eps;
  DType dtype;
};

/// x as [rows, seq, head_dim].
struct RopeRequest {
  AllocationRef x, cos, sin, output;
  Size rows, seq, head_dim, position;
  DType dtype;
};

struct GatherRequest {
  AllocationRef table, indices, output;
  Size table_rows, row_size, count;
  DType dtype;
};

struct ScatterRequest {
  AllocationRef source, indices, output;
  Size output_rows, row_size, count;
  DType dtype;
};

struct UnaryRequest {
  UnaryOp op;
  AllocationRef input, output;
  Size n;
  DType dtype;
};

/// Dimensions are merged as far as both stride sets allow and none has size 1, so rank 1 with
/// strides of 1 is the plain case. Strides are 0 or positive.
struct BinaryRequest {
  BinaryOp op;
  AllocationRef a, b, output;
  Size n;
  std::size_t rank;
  std::array<Size, max_rank> shape, a_strides, b_strides;
  DType dtype;
};

/// The tensor as [outer, length, inner], reduced along length; length may be 0 for sum and mean.
struct ReduceRequest {
  ReduceOp op;
  AllocationRef input, output;
  Size outer, length, inner;
  DType dtype;
};

struct LaunchRequest {
  KernelRef kernel;
  std::vector<AllocationRef> buffers;
  std::span<const std::byte> params;
  std::array<std::uint32_t, 3> grid;
};

struct CastRequest {
  AllocationRef input;
  DType from;
  AllocationRef output;
  DType to;
  Size n;
};

}  // namespace tilewright
