#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tilewright/kernel.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

struct ProgramData;

/// What a backend keeps behind a handle. Lives until the handle is freed and nothing uses it.
class Allocation : public std::enable_shared_from_this<Allocation> {
 public:
  explicit Allocation(std::uint64_t bytes) : bytes_(bytes) {}
  virtual ~Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  std::uint64_t bytes() const { return bytes_; }

 private:
  friend class BufferTable;
  friend class Recordings;
  std::uint64_t bytes_;
  // The buffer table's and the recordings', under their owner's lock.
  std::uint32_t handles_ = 0;
  std::uint32_t named_ = 0;    // by recordings that it was there before
  std::uint64_t made_in_ = 0;  // the recording that it was made in, or 0
  bool kept_ = false;          // by that recording, whatever handles there are
  bool seen_by_host_ = false;  // pointers to it were given out
};

using AllocationRef = std::shared_ptr<Allocation>;

/// Bytes of an allocation: a handle's, or an operand's, which are those that the call touches, from
/// the first to the last.
struct BufferRange {
  AllocationRef allocation;  ///< null for an operand without elements
  std::uint64_t offset = 0, bytes = 0;

  BufferRange() = default;
  BufferRange(AllocationRef whole)
      : allocation(std::move(whole)), bytes(allocation ? allocation->bytes() : 0) {}
  BufferRange(AllocationRef of, std::uint64_t from, std::uint64_t size)
      : allocation(std::move(of)), offset(from), bytes(size) {}

  explicit operator bool() const { return allocation != nullptr; }
  bool operator==(const BufferRange&) const = default;
  bool operator==(std::nullptr_t) const { return allocation == nullptr; }
  bool overlaps(const BufferRange& other) const {
    return allocation == other.allocation &&
           std::max(offset, other.offset) < std::min(offset + bytes, other.offset + other.bytes);
  }
};

/// What launches of a kernel are held against.
struct LaunchLimits {
  std::uint64_t max_binding_bytes;
  std::uint64_t binding_alignment;  ///< of the place in its buffer that a binding starts at
  /// A buffer that a launch may write cannot be read in it too, not even in another part.
  bool one_use_of_buffer;
  std::uint32_t max_groups;  ///< workgroups in a dimension of the grid
};

/// What a backend keeps behind a kernel's handle.
class CompiledKernel {
 public:
  CompiledKernel(KernelInfo info, const LaunchLimits& limits)
      : info_(std::move(info)), limits_(limits) {}
  virtual ~CompiledKernel() = default;
  CompiledKernel(const CompiledKernel&) = delete;
  CompiledKernel& operator=(const CompiledKernel&) = delete;

  const KernelInfo& info() const { return info_; }
  const LaunchLimits& limits() const { return limits_; }

 private:
  KernelInfo info_;
  LaunchLimits limits_;
};

using KernelRef = std::shared_ptr<CompiledKernel>;

/// What an op does with an operand. It updates an output that keeps what the op does not write, or
/// that is read first.
enum class Access : std::uint8_t { read, write, update };

// Checked requests, as implementations get them. References hold their allocations alive for as
// long as the request is kept. operands() visits those of a request with the access to each.
// values() visits all else of it, of requests whose plans are kept: where it `grows` from the
// second time on.

/// Several small values as one of values().
template <class... Small>
constexpr std::uint64_t packed(Small... each) {
  static_assert(sizeof...(each) <= 8);
  std::uint64_t all = 0;
  ((all = all << 8 | static_cast<std::uint8_t>(each)), ...);
  return all;
}

struct GemmRequest {
  std::string_view op;  ///< the call it came from
  bool trans_a, trans_b;
  Size m, n, k;
  float alpha;
  BufferRange a;
  Size lda;
  BufferRange b;
  Size ldb;
  float beta;
  BufferRange c;
  Size ldc;
  Size stride_a, stride_b, stride_c, batch_count;  ///< batch_count is 1 and strides 0 for gemm
  DType dtype, output_dtype;
  std::optional<Precision> rounding;  ///< of A and B, for float32 inputs

  bool rounds() const { return rounding && *rounding != Precision::high; }

  static void operands(auto& r, const auto& visit) {
    visit(r.a, Access::read);
    visit(r.b, Access::read);
    const bool gaps = r.ldc != r.n || (r.batch_count > 1 && r.stride_c != r.m * r.n);
    visit(r.c, gaps || r.beta != 0 ? Access::update : Access::write);
  }
  static void values(const GemmRequest& r, const auto& visit) {
    visit(packed(r.trans_a, r.trans_b, r.dtype, r.output_dtype,
                 r.rounding ? 1 + static_cast<int>(*r.rounding) : 0));
    for (const Size size : {r.m, r.n, r.k, r.lda, r.ldb, r.ldc, r.batch_count}) visit(size);
    visit(std::bit_cast<std::uint64_t>(std::array{r.alpha, r.beta}));
    if (r.batch_count == 1) return;
    for (const Size stride : {r.stride_a, r.stride_b, r.stride_c}) visit(stride);
  }
};

struct MatmulVecRequest {
  BufferRange matrix;
  Size rows, cols;
  BufferRange vector, out;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.matrix, Access::read);
    visit(r.vector, Access::read);
    visit(r.out, Access::write);
  }
};

/// The convolutions. Their results are the outputs, the inputs, and the taps.
enum class ConvOp : std::uint8_t { forward, backward_data, backward_filter };

struct Conv2dRequest {
  ConvOp op;
  Size batch, channels, height, width;        ///< N C H W
  Size filters, filter_height, filter_width;  ///< K R S; a filter has channels / groups channels
  Size out_height, out_width;                 ///< P Q
  Pair stride, pad, dilation;
  Size groups;
  BufferRange input;   ///< grad_input for backward_data
  BufferRange filter;  ///< grad_filter for backward_filter
  BufferRange output;  ///< grad_output for both backward ops
  BufferRange bias;    ///< may be null; forward only
  BufferRange addend;  ///< may be null; forward only, as large as the output
  DType dtype;
  Activation activation = Activation::none;  ///< forward only
  float slope = 0;                           ///< 0 but for leaky_relu

  static void operands(auto& r, const auto& visit) {
    visit(r.input, r.op == ConvOp::backward_data ? Access::write : Access::read);
    visit(r.filter, r.op == ConvOp::backward_filter ? Access::write : Access::read);
    visit(r.output, r.op == ConvOp::forward ? Access::write : Access::read);
    visit(r.bias, Access::read);
    visit(r.addend, Access::read);
  }
  static void values(const Conv2dRequest& r, const auto& visit) {
    for (const Size size : {r.batch, r.channels, r.height, r.width, r.filters, r.filter_height,
                            r.filter_width, r.out_height, r.out_width, r.groups}) {
      visit(size);
    }
    for (const Pair& pair : {r.stride, r.pad, r.dilation}) {
      visit(pair[0]);
      visit(pair[1]);
    }
    visit(packed(r.dtype, r.activation));
    visit(r.slope);
  }
};

/// Rows of elements by batch, head and place in a sequence, in elements: the row of one starts at
/// start + their sum. Dimensions of a single place step over all that lies within them.
struct HeadRows {
  Size batch, head, seq;
  Size start = 0;  ///< in the operand's range

  void values(const auto& visit) const {
    for (const Size value : {batch, head, seq, start}) visit(value);
  }
};

/// What attention may be asked for besides.
struct AttentionOptions {
  BufferRange mask;      ///< null: none
  HeadRows mask_rows{};  ///< of [batch, heads, seq_q], in elements of mask_dtype
  Size mask_key = 0;     ///< the stride along seq_kv
  DType mask_dtype{};    ///< boolean, or the request's
  float soft_cap = 0;    ///< 0: none
  /// Query i sees the keys from i + low to i + high, both included, and with at_end each of them
  /// later by the sequence's keys less its queries. No further away than seq_q + seq_kv; what
  /// `causal` and q_offset say is in them.
  Size low = 0, high = 0;
  bool at_end = false;  ///< only where keys or queries are counted on the device
  Size page_size = 0, pages = 0;
  DType page_dtype{};  ///< of k and v; the request's where they are no pages
  BufferRange kv_lengths, page_table, q_starts, kv_starts;  ///< each may be null
  BufferRange page_scales;                                  ///< of int8 alone

  static void operands(auto& r, const auto& visit) {
    visit(r.mask, Access::read);
    for (auto* range : {&r.kv_lengths, &r.page_table, &r.q_starts, &r.kv_starts, &r.page_scales}) {
      visit(*range, Access::read);
    }
  }
  void values(const auto& visit) const {
    mask_rows.values(visit);
    visit(packed(mask_dtype, at_end, page_dtype));
    visit(soft_cap);
    for (const Size size : {mask_key, low, high, page_size, pages}) visit(size);
  }
};

struct AttentionRequest {
  BufferRange q, k, v, o;
  HeadRows q_rows, k_rows, v_rows, o_rows;  ///< batch of k and v is that of pages where there are
  Size batch, heads, kv_heads, seq_q, seq_kv, head_dim, value_dim;
  float scale;
  bool causal;
  Size q_offset;
  DType dtype;
  bool plain = true;  ///< value_dim is head_dim, and nothing is in options
  AttentionOptions options;

  static void operands(auto& r, const auto& visit) {
    visit(r.q, Access::read);
    visit(r.k, Access::read);
    visit(r.v, Access::read);
    if (r.plain) return visit(r.o, access(r.o, r.batch * r.heads * r.seq_q * r.head_dim, r.dtype));
    const bool all = !r.options.q_starts;
    visit(r.o,
          all ? access(r.o, r.batch * r.heads * r.seq_q * r.value_dim, r.dtype) : Access::update);
    AttentionOptions::operands(r.options, visit);
  }
  static void head_rows(auto& r, const auto& visit) {
    visit(r.q, r.q_rows, r.dtype);
    visit(r.k, r.k_rows, r.options.page_dtype);
    visit(r.v, r.v_rows, r.options.page_dtype);
    visit(r.o, r.o_rows, r.dtype);
  }
  /// As a cache fills up, each call asks for more than the one before.
  static constexpr bool grows = true;
  static void values(const AttentionRequest& r, const auto& visit) {
    for (const HeadRows& rows : {r.q_rows, r.k_rows, r.v_rows, r.o_rows}) rows.values(visit);
    for (const Size size : {r.batch, r.heads, r.kv_heads, r.seq_q, r.seq_kv, r.head_dim}) {
      visit(size);
    }
    visit(r.scale);
    visit(packed(r.causal, r.plain));
    visit(r.q_offset);
    visit(r.dtype);
    if (r.plain) return;
    visit(r.value_dim);
    r.options.values(visit);
  }
  /// What lies between the rows of an output stays.
  static Access access(const BufferRange& output, Size elements, DType dtype) {
    const std::uint64_t all = static_cast<std::uint64_t>(elements) * size_of(dtype);
    return output.bytes == all ? Access::write : Access::update;
  }
};

struct AttentionScoresRequest {
  BufferRange q, keys, scores;
  HeadRows q_rows, key_rows, score_rows;  ///< of one batch
  Size heads, kv_heads, seq, head_dim;
  float scale;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.q, Access::read);
    visit(r.keys, Access::read);
    visit(r.scores, AttentionRequest::access(r.scores, r.heads * r.seq, r.dtype));
  }
  static void head_rows(auto& r, const auto& visit) {
    visit(r.q, r.q_rows, r.dtype);
    visit(r.keys, r.key_rows, r.dtype);
    visit(r.scores, r.score_rows, r.dtype);
  }
};

struct WeightedSumRequest {
  BufferRange weights, rows, output;
  HeadRows weight_rows, row_rows, output_rows;  ///< of one batch
  Size heads, kv_heads, count, dim;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.weights, Access::read);
    visit(r.rows, Access::read);
    visit(r.output, AttentionRequest::access(r.output, r.heads * r.dim, r.dtype));
  }
  static void head_rows(auto& r, const auto& visit) {
    visit(r.weights, r.weight_rows, r.dtype);
    visit(r.rows, r.row_rows, r.dtype);
    visit(r.output, r.output_rows, r.dtype);
  }
};

/// The tensor as [outer, length, inner], normalised along length.
struct SoftmaxRequest {
  BufferRange input, output;
  Size outer, length, inner;
  DType dtype;
  bool log = false;

  static void operands(auto& r, const auto& visit) {
    visit(r.input, Access::read);
    visit(r.output, Access::write);
  }
};

struct NormRequest {
  BufferRange x, weight, bias, out;  ///< weight and bias may be null; bias is for rmsnorm
  BufferRange residual, sum;         ///< may be null; sum is only where residual is
  Size rows, cols;
  Size ldx;  ///< cols, but for rows that a product takes normed
  float eps;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.x, Access::read);
    visit(r.weight, Access::read);
    visit(r.bias, Access::read);
    visit(r.residual, Access::read);
    visit(r.out, Access::write);
    visit(r.sum, Access::write);
  }
};

struct GatherRequest {
  BufferRange table, indices, output;
  Size table_rows, row_size, count;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.table, Access::read);
    visit(r.indices, Access::read);
    visit(r.output, Access::write);
  }
};

struct ScatterRequest {
  BufferRange source, indices, output;
  Size output_rows, row_size, count;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.source, Access::read);
    visit(r.indices, Access::read);
    visit(r.output, Access::update);
  }
};

struct UnaryRequest {
  UnaryOp op;
  BufferRange input, output;
  Size n;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.input, Access::read);
    visit(r.output, Access::write);
  }
};

/// Dimensions are merged as far as both stride sets allow and none has size 1, so rank 1 with
/// strides of 1 is the plain case. Strides are 0 or positive.
struct BinaryRequest {
  BinaryOp op;
  BufferRange a, b, output;
  Size n;
  std::size_t rank;
  std::array<Size, max_rank> shape, a_strides, b_strides;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.a, Access::read);
    visit(r.b, Access::read);
    visit(r.output, Access::write);
  }
};

/// The tensor as [outer, length, inner], reduced along length; length may be 0 for sum and mean.
struct ReduceRequest {
  ReduceOp op;
  BufferRange input, output;
  Size outer, length, inner;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.input, Access::read);
    visit(r.output, Access::write);
  }
  static void values(const ReduceRequest& r, const auto& visit) {
    visit(r.op);
    visit(r.outer);
    visit(r.length);
    visit(r.inner);
    visit(r.dtype);
  }
};

/// What a program runs on. Dimensions of size 1 are left out, neighbours that all operands walk as
/// one are joined, and the others are in the order in which the first output lies in memory; so
/// rank 1 with strides of 1 is the plain case.
struct MapRequest {
  struct Operand {
    AllocationRef allocation;
    Size offset;  ///< of the first one, in elements of the allocation
  };
  static constexpr std::uint32_t no_output = ~std::uint32_t{0};

  std::shared_ptr<const ProgramData> program;
  Size n = 0;
  std::size_t rank = 0;
  std::vector<Operand> operands;       ///< the inputs, then the outputs
  std::vector<Size> sizes;             ///< rank of the shape, then the strides of each operand
  std::vector<std::uint64_t> numbers;  ///< bits as elements of their dtypes
  std::vector<std::uint32_t> same_as;  ///< for each input, the output that it is, or no_output

  std::span<const Size> shape() const { return std::span(sizes).first(rank); }
  std::span<const Size> strides(std::size_t operand) const {
    return std::span(sizes).subspan((1 + operand) * rank, rank);
  }
};

/// A reduction or a scan of what a program makes of elements. Dimensions of size 1 are left out,
/// neighbours that all operands walk as one are joined, and the kept ones come first, those along
/// which the inputs lie closest last; reduced ones are in that order too, but those of argmax and
/// argmin, whose places count in the order of the call. Nothing is empty.
struct FoldRequest {
  std::string_view call;
  Reduction op;            ///< neither any nor all, which are max and min of 0 and 1
  bool scan = false;       ///< along the last dimension; each element has results
  bool exclusive = false;  ///< of a scan
  std::shared_ptr<const ProgramData> front;  ///< one output, no bool: elements are joined in its
                                             ///< class
  /// Its first input is the result, which comes as a value of its class and not from memory: of
  /// argmax and argmin as uint32. Of moments the first two are the results.
  std::shared_ptr<const ProgramData> behind;
  Size results = 1, length = 1;               ///< elements that are kept, and reduced, or scanned
  std::size_t kept = 0, rank = 0;             ///< dimensions
  std::vector<MapRequest::Operand> operands;  ///< front's inputs, behind's but results, outputs
  std::vector<Size> sizes;  ///< rank of the shape, then the strides of each operand: 0 along what
                            ///< is reduced for all but front's inputs, unless it is a scan
  std::vector<std::uint64_t> numbers, behind_numbers;  ///< bits as elements of their dtypes

  bool finds_place() const { return op == Reduction::argmax || op == Reduction::argmin; }
  std::size_t found() const { return op == Reduction::moments ? 2 : 1; }  ///< inputs of behind
  std::span<const Size> shape() const { return std::span(sizes).first(rank); }
  std::span<const Size> strides(std::size_t operand) const {
    return std::span(sizes).subspan((1 + operand) * rank, rank);
  }
};

/// The first `kept` elements of each row in their order, and their places.
struct SortRequest {
  std::string_view op;                 ///< "sort", "argsort" or "topk"
  BufferRange input, values, indices;  ///< of the outputs at least one; values may be the input
  Size rows, length, kept;
  DType dtype, index_dtype;
  bool descending;

  static void operands(auto& r, const auto& visit) {
    visit(r.input, Access::read);
    if (r.values) visit(r.values, Access::write);
    if (r.indices) visit(r.indices, Access::write);
  }
};

/// Elements moved by arrays of indices: from the places that these give, or with `scatter` to them.
/// Dimensions of size 1 are left out, and neighbours that all operands walk as one are joined; the
/// order is that of the call. Each index array has a dimension of more than one element along
/// which it moves, unless it moves along none. Nothing is empty.
struct MoveRequest {
  struct Index {
    MapRequest::Operand operand;
    DType dtype;
    Size size, stride;  ///< of the axis, in elements and in elements of what is indexed
    Size axis;
  };
  std::string name;  ///< what a message calls it
  bool scatter;
  std::size_t item;  ///< bytes of an element
  Size n = 1;
  std::size_t rank = 0;
  MapRequest::Operand source, output;
  std::vector<Index> indices;
  std::vector<Size> sizes;  ///< the shape, the strides of source and output, and of each index

  std::string_view call() const { return scatter ? "scatter_elements" : "gather_elements"; }
  std::span<const Size> part(std::size_t i) const {
    return std::span(sizes).subspan(i * rank, rank);
  }
  std::span<const Size> shape() const { return part(0); }
  std::span<const Size> source_strides() const { return part(1); }
  std::span<const Size> output_strides() const { return part(2); }
  std::span<const Size> index_strides(std::size_t i) const { return part(3 + i); }
};

/// What a mask chooses: counted (output and source are null), the elements of a source, or without
/// one the places along each axis of a shape.
struct MaskRequest {
  BufferRange mask, counts, source, output;
  Size n, count;
  DType dtype;              ///< of the output
  std::vector<Size> shape;  ///< of the mask, where places are asked for

  std::string_view call() const { return !output ? "mask_counts" : source ? "compact" : "nonzero"; }
  static void operands(auto& r, const auto& visit) {
    visit(r.mask, Access::read);
    visit(r.counts, r.output ? Access::read : Access::write);
    visit(r.source, Access::read);
    visit(r.output, Access::update);
  }
};

struct SearchRequest {
  BufferRange sorted, values, output;
  Size n, count;
  bool right;
  DType dtype, index_dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.sorted, Access::read);
    visit(r.values, Access::read);
    visit(r.output, Access::write);
  }
};

struct LaunchRequest {
  KernelRef kernel;
  std::vector<BufferRange> buffers;
  std::span<const std::byte> params;
  std::array<std::uint32_t, 3> grid;
};

struct CastRequest {
  BufferRange input;
  DType from;
  BufferRange output;
  DType to;
  Size n;

  static void operands(auto& r, const auto& visit) {
    visit(r.input, Access::read);
    visit(r.output, Access::write);
  }
};

/// What an op is called in messages and profiles: as its request says where calls share it, else by
/// its name in TILEWRIGHT_OPS.
template <class Request>
std::string_view call_of(std::string_view name, const Request& request) {
  if constexpr (requires { std::string_view(request.op); }) return request.op;
  return name;
}

/// The same with which of the ops of that name it is: "unary_relu", "softmax_log".
template <class Request>
std::string kind_of(std::string_view name, const Request& request) {
  std::string all(call_of(name, request));
  if constexpr (requires { EnumNames<decltype(request.op)>::values; }) {
    all.append("_").append(to_string(request.op));
  }
  if constexpr (requires { request.log; }) all.append(request.log ? "_log" : "");
  return all;
}

}  // namespace tilewright
