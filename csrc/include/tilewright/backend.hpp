#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/config.hpp"
#include "tilewright/device.hpp"
#include "tilewright/error.hpp"
#include "tilewright/event.hpp"
#include "tilewright/export.hpp"
#include "tilewright/kernel.hpp"
#include "tilewright/profile.hpp"
#include "tilewright/program.hpp"
#include "tilewright/recording.hpp"
#include "tilewright/types.hpp"

/// The ops that an implementation provides as do_NAME, each with the checked request that it gets.
/// Declarations, what is thrown for a missing op, times and recordings follow from this list.
// clang-format off
#define TILEWRIGHT_OPS(X)                           \
  X(gemm, GemmRequest)                              \
  X(matmul_vec, MatmulVecRequest)                   \
  X(conv2d_forward, Conv2dRequest)                  \
  X(conv2d_backward_data, Conv2dRequest)            \
  X(conv2d_backward_filter, Conv2dRequest)          \
  X(attention, AttentionRequest)                    \
  X(attention_scores, AttentionScoresRequest)       \
  X(weighted_sum, WeightedSumRequest)               \
  X(softmax, SoftmaxRequest)                        \
  X(cross_entropy, CrossEntropyRequest)             \
  X(cross_entropy_backward, EntropyGradientRequest) \
  X(rmsnorm, NormRequest)                           \
  X(layer_norm, NormRequest)                        \
  X(rope, RopeRequest)                              \
  X(write_pages, WritePagesRequest)                 \
  X(pool, PoolRequest)                              \
  X(pool_backward, PoolBackwardRequest)             \
  X(resample, ResampleRequest)                      \
  X(grid_sample, GridSampleRequest)                 \
  X(grid_sample_backward_grid, GridGradientRequest) \
  X(gather, GatherRequest)                          \
  X(scatter, ScatterRequest)                        \
  X(unary, UnaryRequest)                            \
  X(binary, BinaryRequest)                          \
  X(reduce, ReduceRequest)                          \
  X(cast, CastRequest)                              \
  X(map, MapRequest)                                \
  X(map_many, MapManyRequest)                       \
  X(concat, ConcatRequest)                          \
  X(map_reduce, FoldRequest)                        \
  X(scan, FoldRequest)                              \
  X(map_rows, RowsRequest)                          \
  X(sort, SortRequest)                              \
  X(gather_elements, MoveRequest)                   \
  X(scatter_elements, MoveRequest)                  \
  X(mask_counts, MaskRequest)                       \
  X(compact, MaskRequest)                           \
  X(nonzero, MaskRequest)                           \
  X(search_sorted, SearchRequest)                   \
  X(cholesky, CholeskyRequest)                      \
  X(lu, LuRequest)                                  \
  X(triangular_solve, TriangularSolveRequest)       \
  X(qr, QrRequest)                                  \
  X(eigh, EighRequest)                              \
  X(svd, SvdRequest)                                \
  X(eig, EigRequest)                                \
  X(fft, FftRequest)                                \
  X(fft_real, FftRealRequest)                       \
  X(sparse_matmul, SparseMatmulRequest)             \
  X(dequantize, DequantizeRequest)                  \
  X(quantized_matmul, QuantizedMatmulRequest)       \
  X(recurrent, RecurrentRequest)                    \
  X(linear, LinearRequest)
// clang-format on

namespace tilewright {

#define TILEWRIGHT_REQUEST(name, Request) struct Request;
TILEWRIGHT_OPS(TILEWRIGHT_REQUEST)
#undef TILEWRIGHT_REQUEST

class Allocation;
class BackendState;
class CompiledKernel;
class Choices;
class RecordedWork;
struct BufferRange;
struct HostRead;
struct LaunchRequest;
class MemoryBudget;
class Rehearsal;
class Scalar;

/// The backend trait: one small interface to a GPU or CPU.
///
/// Conventions
/// - Matrices and tensors are row-major. Shapes, strides and leading dimensions count elements.
/// - Ops are queued in order and return at once; copy_dtoh and synchronize wait, events tell when
///   what was queued before them is done. An op that throws has changed nothing.
/// - Zero-size work does nothing, but its arguments are still checked. A buffer that by the sizes
///   holds no elements may be Buffer::null, and the leading dimension of such a matrix 0.
/// - Every method may be called from any thread. Ops before init() or after close() throw
///   NotInitialized; a handle that is unknown, freed or of another backend is InvalidArgument; an
///   op that the backend lacks throws Unsupported.
/// - dtype is how the float buffers of an op are stored. float16 is computed in float32.
/// - An operand is the bytes that a call touches, from the first to the last. An output must lie
///   apart from every input; where the call says that it may be one, it may be exactly its bytes.
///   Parts of one buffer that lie apart are like different buffers.
/// - NaN and infinity behave as in NumPy.
class TILEWRIGHT_API Backend {
 public:
  virtual ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // Lifecycle -----------------------------------------------------------------------------------

  /// Opens the device. Does nothing if it is open. Throws BackendUnavailable with the reason.
  void init();
  bool is_initialized() const noexcept;
  /// Waits for calls that are running, frees every buffer and releases the device. Does nothing if
  /// it is closed. init() opens it again; handles and recordings from before stay invalid.
  void close();

  /// "webgpu", "level-zero" or "cpu".
  std::string_view name() const noexcept { return name_; }
  const Config& config() const noexcept { return config_; }
  DeviceInfo device() const;
  /// What the device can do, and what suits it. On a closed backend they open the device that
  /// init() would, and close it again.
  Capabilities capabilities();
  PerformanceHints performance_hints();
  /// Whether a small call of an op of the trait would run here on buffers of a dtype: it is
  /// planned, and none of it is run on a GPU. False where the call throws Unsupported, and where
  /// the op takes no such dtype anywhere. `kind` is which of the op's kinds is meant, where it has
  /// several: a UnaryOp, BinaryOp, ReduceOp, Precision, Reduction, ScanOp, PoolOp or, of map, an op
  /// of programs; its first one unless given. Of what takes complex numbers it is "real" or
  /// "complex", and `dtype` that of each part. `to` is the dtype that gemm, cast and map write.
  /// InvalidArgument for names that are not there.
  bool supports(std::string_view op, DType dtype = DType::float32, std::string_view kind = {},
                std::optional<DType> to = std::nullopt);
  /// The ops that supports() is asked for, less those that would run on no dtype.
  std::vector<std::string_view> available_ops();
  /// Returns when all queued work is done and asynchronous reads have filled what they read to.
  void synchronize();
  /// Hands queued work to the device and returns at once. Needed only where somebody else waits for
  /// it: waits, reads and Event::done() see to it themselves.
  void flush();
  /// Where the queue is now.
  Event event();
  /// From here to the recording's end() this thread's ops are kept instead of run, to be queued as
  /// often as one likes: see Recording. Other threads' calls are as always. One recording at a
  /// time.
  Recording record();

  // Memory --------------------------------------------------------------------------------------

  /// A buffer of exactly `bytes` > 0, contents undefined. More than the device can ever hold is
  /// InvalidArgument, more than is free now OutOfMemory.
  Buffer alloc(Size bytes);
  /// A handle on `bytes` > 0 bytes of a buffer or of another view, from `offset` on, good in every
  /// call. The memory lives until the buffer's handle and all its views are freed, each by itself.
  /// The elements of an operand start on a multiple of their size in the buffer. GPU backends bind
  /// a view in place where it starts on a multiple of limits["min_binding_alignment"]; of others,
  /// and on webgpu of inputs that lie in an output's buffer, an op makes a copy on the device.
  Buffer view(Buffer buffer, Size offset, Size bytes);
  /// Work that is already queued on the buffer still completes.
  void free(Buffer buffer);
  /// free() for owners that clean up: does nothing for a handle that is not live here.
  void release(Buffer buffer) noexcept;
  /// Copies all of src to `dst` at `offset` bytes. Past the end is InvalidArgument.
  void copy_htod(Buffer dst, std::span<const std::byte> src, Size offset = 0);
  /// Fills dst from `src` at `offset` bytes, after all work queued before.
  void copy_dtoh(std::span<std::byte> dst, Buffer src, Size offset = 0);
  /// copy_dtoh that returns before it is done: dst is filled when the event is. It is filled in
  /// calls, by any thread: in done() and wait() of this event or of one made later, in
  /// synchronize() and close(). Until then dst must stay where it is and belongs to the read,
  /// also where the event is let go of; `owner`, if any, is kept as long. What is queued after the
  /// call does not change what is read. Reads under way hold at most 16 MB of staging: one that
  /// finds no room there returns once it has, so a longer one when its last part is queued.
  Event copy_dtoh_async(std::span<std::byte> dst, Buffer src, Size offset = 0,
                        std::shared_ptr<const void> owner = nullptr);
  /// Overlapping ranges of one buffer are InvalidArgument.
  void copy_dtod(Buffer dst, Buffer src, Size bytes, Size dst_offset = 0, Size src_offset = 0);
  Size buffer_bytes(Buffer buffer) const;
  /// The buffer's own memory, where the host can address it (the CPU backend); null elsewhere. It
  /// outlives free() and close() for as long as the pointer is kept.
  std::shared_ptr<std::byte> host_memory(Buffer buffer) const;
  MemoryStats memory_stats() const;
  /// Gives cached memory back to the system.
  void trim();

  // Linear algebra ------------------------------------------------------------------------------

  /// C = alpha * op(A) * op(B) + beta * C, with op(A) m x k, op(B) k x n and C m x n.
  /// Leading dimensions are at least the row lengths as stored. beta == 0 does not read C, alpha ==
  /// 0 reads neither A nor B; k == 0 gives beta * C. dtype is that of A and B, output_dtype that of
  /// C: the same, or float32 for float16 inputs. float64 is multiplied where the device has it.
  /// alpha and beta round to float32 everywhere. int8 and uint8 are multiplied into int32, whose
  /// sums wrap: alpha is 1 there, and beta 0 or 1.
  void gemm(Transpose trans_a, Transpose trans_b, Size m, Size n, Size k, double alpha, Buffer a,
            Size lda, Buffer b, Size ldb, double beta, Buffer c, Size ldc,
            DType dtype = DType::float32, std::optional<DType> output_dtype = std::nullopt);

  /// batch_count products; matrix i starts i * stride elements into its buffer. stride_a or
  /// stride_b 0 shares that matrix; the C matrices must not overlap.
  void batched_gemm(Transpose trans_a, Transpose trans_b, Size m, Size n, Size k, double alpha,
                    Buffer a, Size lda, Size stride_a, Buffer b, Size ldb, Size stride_b,
                    double beta, Buffer c, Size ldc, Size stride_c, Size batch_count,
                    DType dtype = DType::float32, std::optional<DType> output_dtype = std::nullopt);

  /// gemm whose A, B and C are stored as float16; products are summed in float32.
  void gemm_f16(Transpose trans_a, Transpose trans_b, Size m, Size n, Size k, double alpha,
                Buffer a, Size lda, Buffer b, Size ldb, double beta, Buffer c, Size ldc);

  /// gemm on float32 buffers whose A and B are rounded to `precision` (to nearest even) first;
  /// products are summed in float32. Of Precision::high A and B keep 22 digits where matrix units
  /// take the product: each element of op(A) op(B) is off by at most 2^-21 times the sum of its
  /// products' magnitudes, plus k 2^-36 (k 2^-26 where units flush float16's subnormal numbers)
  /// times the largest finite magnitudes of the row of op(A) and the column of op(B), beside what
  /// sums are off by. Infinities and NaN come out as of gemm. Elsewhere it is gemm.
  void gemm_mixed_precision(Precision precision, Transpose trans_a, Transpose trans_b, Size m,
                            Size n, Size k, double alpha, Buffer a, Size lda, Buffer b, Size ldb,
                            double beta, Buffer c, Size ldc);

  /// out[rows] = matrix[rows, cols] * vector[cols].
  void matmul_vec(Buffer matrix, Size rows, Size cols, Buffer vector, Buffer out,
                  DType dtype = DType::float32);

  // Neural network ops --------------------------------------------------------------------------

  /// output[N,K,P,Q] = input[N,C,H,W] * filter[K,C/groups,R,S] (+ bias[K]), cross-correlation as in
  /// every neural-network library. P = (H + 2 pad_h - dilation_h (R-1) - 1) / stride_h + 1, rounded
  /// down, must be the given one; Q likewise. N may be 0, every other size must be positive. What
  /// is written is `activation` of this, taken before it rounds to dtype; slope is leaky_relu's
  /// alone. An addend of the output's shape, apart from the output, is added before the activation:
  /// on cpu with the sums, on GPUs in a launch of its own, for which the sums round to dtype.
  void conv2d_forward(Buffer input, const Shape4& input_shape, Buffer filter,
                      const Shape4& filter_shape, Buffer output, const Shape4& output_shape,
                      const Pair& stride, const Pair& pad, const Pair& dilation = {1, 1},
                      Size groups = 1, std::optional<Buffer> bias = std::nullopt,
                      DType dtype = DType::float32, Activation activation = Activation::none,
                      double slope = 0.01, std::optional<Buffer> addend = std::nullopt);

  /// grad_input[N,C,H,W] from grad_output[N,K,P,Q] and filter, for the same shapes as the forward.
  void conv2d_backward_data(Buffer grad_output, const Shape4& output_shape, Buffer filter,
                            const Shape4& filter_shape, Buffer grad_input,
                            const Shape4& input_shape, const Pair& stride, const Pair& pad,
                            const Pair& dilation = {1, 1}, Size groups = 1,
                            DType dtype = DType::float32);

  /// grad_filter[K,C/groups,R,S] from input and grad_output, for the same shapes as the forward.
  void conv2d_backward_filter(Buffer input, const Shape4& input_shape, Buffer grad_output,
                              const Shape4& output_shape, Buffer grad_filter,
                              const Shape4& filter_shape, const Pair& stride, const Pair& pad,
                              const Pair& dilation = {1, 1}, Size groups = 1,
                              DType dtype = DType::float32);

  /// o = softmax(scale * q k^T) v with q [batch, heads, seq_q, head_dim], k [batch, kv_heads,
  /// seq_kv, head_dim], v [.., value_dim] and o [batch, heads, seq_q, value_dim]; head h reads kv
  /// head h / (heads / kv_heads), and value_dim is head_dim unless given. The sizes are positive,
  /// scale finite and positive. No seq_q x seq_kv matrix is stored.
  ///
  /// Query i of a sequence stands at place p = i + q_offset, or with `at_end` where the last query
  /// stands at the last key: p = i + keys - queries. It sees the keys j with j >= p - window_left
  /// and j <= p + window_right, each side unbounded unless given; causal: and j <= p. soft_cap > 0:
  /// a score s becomes soft_cap * tanh(s / soft_cap). `mask`, after that, is by strides, 0 to
  /// broadcast it, over [batch, heads, seq_q, seq_kv]: of bool, true where a key may be seen, or of
  /// dtype, added to the scores. A row that sees no key is 0, and with a mask one whose scores
  /// are all -infinity.
  ///
  /// kv_lengths, int32 [batch]: the keys that each sequence has, of the seq_kv that it has room
  /// for; numbers outside [0, seq_kv] are the nearest inside. page_table, int32 [batch,
  /// seq_kv / page_size]: k and v are [pages, kv_heads, page_size, dim], and key j of sequence b
  /// is row j % page_size of page page_table[b, j / page_size]; page_size divides seq_kv. A page
  /// outside [0, pages), of keys that are seen, makes NaN of what sees them. page_dtype is how k
  /// and v are stored where they are pages: as dtype unless given, or as float16 or int8. Of int8,
  /// page_scales, float32 [pages, 2, kv_heads, page_size], are what each row of k, and behind them
  /// each row of v, is multiplied by.
  ///
  /// q_starts and kv_starts, int32 [batch + 1], both or neither: sequences lie behind each other
  /// and may be of any lengths. q and o are [1, heads, seq_q, dim], k and v [1, kv_heads, seq_kv,
  /// dim], and sequence b has the queries from q_starts[b] to q_starts[b + 1] and the keys from
  /// kv_starts[b] to kv_starts[b + 1]. They ascend from 0: where they do not, o is undefined. Rows
  /// of o in no sequence stay. With page_table there are q_starts and kv_lengths and no kv_starts.
  /// mask goes with neither.
  ///
  /// Operands of attention, attention_scores, weighted_sum and rope may lie with strides, one for
  /// each dimension, as a part of a cache, another order of the axes or a slice of a fused buffer
  /// does, and are used where they lie. The last stride must be 1, the others 0 or more, and the
  /// elements of an output apart; strides may leave out dimensions in front that have a single
  /// place.
  void attention(
      const MapOperand& q, const MapOperand& k, const MapOperand& v, const MapOperand& o,
      Size batch, Size heads, Size seq_q, Size seq_kv, Size head_dim, double scale, bool causal,
      Size q_offset = 0, std::optional<Size> kv_heads = std::nullopt, DType dtype = DType::float32,
      const std::optional<MapOperand>& mask = std::nullopt, DType mask_dtype = DType::boolean,
      double soft_cap = 0, std::optional<Size> window_left = std::nullopt,
      std::optional<Size> window_right = std::nullopt, std::optional<Size> value_dim = std::nullopt,
      bool at_end = false, std::optional<Buffer> kv_lengths = std::nullopt,
      std::optional<Buffer> page_table = std::nullopt, std::optional<Size> page_size = std::nullopt,
      std::optional<Size> pages = std::nullopt, std::optional<Buffer> q_starts = std::nullopt,
      std::optional<Buffer> kv_starts = std::nullopt,
      std::optional<DType> page_dtype = std::nullopt,
      std::optional<Buffer> page_scales = std::nullopt);

  /// scores[heads, seq] = scale * keys[kv_heads, seq, head_dim] . q[heads, head_dim].
  void attention_scores(const MapOperand& q, const MapOperand& keys, const MapOperand& scores,
                        Size seq, Size head_dim, double scale, Size heads = 1,
                        std::optional<Size> kv_heads = std::nullopt, DType dtype = DType::float32);

  /// output[heads, dim] = weights[heads, count] * rows[kv_heads, count, dim].
  void weighted_sum(const MapOperand& weights, const MapOperand& rows, const MapOperand& output,
                    Size count, Size dim, Size heads = 1,
                    std::optional<Size> kv_heads = std::nullopt, DType dtype = DType::float32);

  /// Along one axis (negative counts from the end), or with `log` the logarithms of that, whose
  /// digits hold where it is 0. output may be input.
  void softmax(Buffer input, Buffer output, std::span<const Size> shape, Size axis,
               DType dtype = DType::float32, bool log = false);

  /// What the scores of classes, along one axis of a shape, lose by the class that is the target of
  /// each line: w[t] * (log sum e^x - x[t]), where w are the weights of the classes, 1 unless
  /// given. `smoothing`, from 0 to 1, takes as much of it, and adds as much of the mean over all
  /// classes c of w[c] * (log sum e^x - x[c]). targets, of target_dtype, int32 or int64, have one
  /// for each line, in the order of the other axes. Lines whose target is `ignored` lose 0; any
  /// other number that is no class is IndexOutOfRange, on GPUs at the next wait. losses has one
  /// number for each line, or with a reduction, sum or mean, one: a mean is the sum over that of
  /// w[t] of the lines that are not ignored, NaN where there are none. Sums are in float32, of
  /// float64 in float64. Also of bfloat16, and of float64 where the device has it and its
  /// exponentials.
  void cross_entropy(Buffer scores, Buffer targets, Buffer losses, std::span<const Size> shape,
                     Size axis, DType dtype = DType::float32, DType target_dtype = DType::int32,
                     std::optional<Buffer> weights = std::nullopt, Size ignored = -100,
                     double smoothing = 0, std::optional<ReduceOp> reduction = std::nullopt);

  /// What the scores change the losses of the same call of cross_entropy() by, times `factor`, and
  /// times grad: of one element for each line, or with a reduction of one. grad is 1 unless given.
  /// Ignored lines have 0.
  void cross_entropy_backward(Buffer scores, Buffer targets, Buffer grad_scores,
                              std::span<const Size> shape, Size axis, DType dtype = DType::float32,
                              DType target_dtype = DType::int32,
                              std::optional<Buffer> weights = std::nullopt, Size ignored = -100,
                              double smoothing = 0,
                              std::optional<ReduceOp> reduction = std::nullopt,
                              std::optional<Buffer> grad = std::nullopt, double factor = 1);

  /// out = x * weight / sqrt(mean(x^2) + eps), row by row; without a weight it is 1. With a
  /// residual of x's shape, x + residual, rounded to dtype, is in the place of x, and is written to
  /// `sum` where that is given. out may be x, and sum the residual.
  void rmsnorm(Buffer x, std::optional<Buffer> weight, Buffer out, Size rows, Size cols, double eps,
               DType dtype = DType::float32, std::optional<Buffer> residual = std::nullopt,
               std::optional<Buffer> sum = std::nullopt);

  /// out = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias, row by row; without them these are 1
  /// and 0. residual and sum, and where outputs may lie, are as of rmsnorm().
  void layer_norm(Buffer x, std::optional<Buffer> weight, std::optional<Buffer> bias, Buffer out,
                  Size rows, Size cols, double eps, DType dtype = DType::float32,
                  std::optional<Buffer> residual = std::nullopt,
                  std::optional<Buffer> sum = std::nullopt);

  /// unary with that op.
  void silu(Buffer input, Buffer output, Size n, DType dtype = DType::float32);
  void gelu(Buffer input, Buffer output, Size n, DType dtype = DType::float32);

  /// Rotates pairs of the first rotary_dim elements, head_dim unless given, of each row of x[batch,
  /// heads, seq, head_dim], and copies the others: the pairs (i, i + rotary_dim/2), or by
  /// `pairing` the neighbours (2i, 2i + 1). The angles, with `inverse` their negatives, are those
  /// whose cosines and sines are row `position + s` of cos and sin [table_rows, rotary_dim/2].
  /// positions, int32 [batch, positions_per_sequence], are in place of position, which is 0 then:
  /// one for each sequence, whose place s takes row positions[b] + s, or seq of them, one for each
  /// place. A row outside the table gives NaN in what is rotated. output may be x. Both may lie
  /// with strides, as attention's operands.
  void rope(const MapOperand& x, Buffer cos, Buffer sin, const MapOperand& output, Size batch,
            Size heads, Size seq, Size head_dim, Size table_rows, Size position = 0,
            DType dtype = DType::float32, RopePairing pairing = RopePairing::halves,
            std::optional<Size> rotary_dim = std::nullopt,
            std::optional<Buffer> positions = std::nullopt, Size positions_per_sequence = 1,
            bool inverse = false);

  /// Keys and values of tokens to the pages that attention() reads. x[tokens, heads + 2 * kv_heads,
  /// head_dim] has the queries, keys and values of each token, cache[pages, page_size, 2 *
  /// kv_heads, head_dim] the keys and values of each place. Token t goes to place slots[t] %
  /// page_size of page slots[t] / page_size, int32 [tokens]; one whose slot is in no page is not
  /// written, and of several for one slot any may be. What else is in the cache stays.
  ///
  /// With cos and sin, keys are rotated on their way, and queries where they lie, as rope() does:
  /// token t by row positions[t], int32 [tokens], of the tables [table_rows, rotary_dim/2].
  ///
  /// The cache is stored as page_dtype: as dtype unless given, or as float16 or int8. Of int8,
  /// page_scales, float32 [pages, 2, kv_heads, page_size], get the largest size of each row times
  /// 1/127, and the cache x * (127 / the largest size), rounded half to even. A row whose largest
  /// is below 1e-30 is 0; one with NaN or infinity has the scale NaN. x and the cache may lie with
  /// strides, as attention's operands.
  void write_pages(const MapOperand& x, const MapOperand& cache, Buffer slots, Size tokens,
                   Size heads, Size kv_heads, Size head_dim, Size pages, Size page_size,
                   DType dtype = DType::float32, std::optional<DType> page_dtype = std::nullopt,
                   std::optional<Buffer> page_scales = std::nullopt,
                   std::optional<Buffer> cos = std::nullopt,
                   std::optional<Buffer> sin = std::nullopt,
                   std::optional<Buffer> positions = std::nullopt, Size table_rows = 0,
                   RopePairing pairing = RopePairing::halves,
                   std::optional<Size> rotary_dim = std::nullopt);

  /// output[planes, output_shape] from the windows of input[planes, shape], along 1 to 3 axes. At p
  /// of an axis a window has the elements p * stride - pad + k * dilation for k < window, those
  /// that are in the input. With `window`, and then stride, pad and dilation too, empty, it has
  /// those from p * length / out, rounded down, to (p + 1) * length / out, rounded up. planes may
  /// be 0, every other size must be positive; output_shape is any, so it also says how far windows
  /// reach behind.
  ///
  /// max gives NaN where there is one, and with `places`, int32, where in its plane the largest is,
  /// counted row by row: the first one of them, or the first NaN. Sums are over the elements of the
  /// window, of mean_padded also over its places up to `pad` outside the input, or over `divisor`
  /// where that is not 0. A window without elements gives -infinity, at place -1, or 0. Also of
  /// bfloat16, and of float64 where the device has it.
  void pool(PoolOp op, Buffer input, Buffer output, Size planes, std::span<const Size> shape,
            std::span<const Size> output_shape, std::span<const Size> window,
            std::span<const Size> stride, std::span<const Size> pad, std::span<const Size> dilation,
            double divisor = 0, std::optional<Buffer> places = std::nullopt,
            DType dtype = DType::float32);

  /// grad_input[planes, shape] from grad_output[planes, output_shape], for the same windows as the
  /// forward: each element has the sum over the windows that have it, of max over those at whose
  /// `places` it is, which max alone needs. The same call gives the same bits each time.
  void pool_backward(PoolOp op, Buffer grad_output, Buffer grad_input, Size planes,
                     std::span<const Size> shape, std::span<const Size> output_shape,
                     std::span<const Size> window, std::span<const Size> stride,
                     std::span<const Size> pad, std::span<const Size> dilation, double divisor = 0,
                     std::optional<Buffer> places = std::nullopt, DType dtype = DType::float32);

  /// output[planes, P, Q] = rows * input[planes, H, W] * columns^T, where each row of these two
  /// matrices has elements other than 0 side by side: those of p are at spans[p, 0] and behind,
  /// spans[p, 1] of them, and the first ones of weights[p, taps]. Spans are int32; what of them
  /// lies outside the input or the taps counts nothing. Weights are float32, of float64 buffers
  /// float64. An axis of 0 taps stays as it is, and its tables may be Buffer::null. One element of
  /// weight 1 is copied. planes may be 0, every other size must be positive. Also of bfloat16, and
  /// of float64 where the device has it.
  void resample(Buffer input, Buffer output, Size planes, const Pair& shape,
                const Pair& output_shape, Buffer row_spans, Buffer row_weights, Size row_taps,
                Buffer column_spans, Buffer column_weights, Size column_taps,
                DType dtype = DType::float32);

  /// output[batch, channels, output_shape] from input[batch, channels, shape], of 2 or 3 axes, at
  /// the places of grid[batch, output_shape, axes]: the last axis's coordinate first, -1 and 1
  /// being the edges of the input, with align_corners the middles of the elements at the edges.
  /// bilinear, of 3 axes trilinear, weighs the two nearest elements along each axis, bicubic, of 2
  /// axes, four, by Keys' cubic with -0.75; nearest takes the even one of two. Mirrors of
  /// `reflection` are the edges, as align_corners has them. NaN is taken for -infinity, and of a
  /// mirrored place that is not finite the first element. batch and channels may be 0, every other
  /// size must be positive. Also of bfloat16, and of float64 where the device has it.
  void grid_sample(Buffer input, Buffer grid, Buffer output, Size batch, Size channels,
                   std::span<const Size> shape, std::span<const Size> output_shape,
                   SampleMode mode = SampleMode::bilinear,
                   SamplePadding padding = SamplePadding::zeros, bool align_corners = false,
                   DType dtype = DType::float32);

  /// grad_grid[batch, output_shape, axes] from grad_output[batch, channels, output_shape], for the
  /// same call as grid_sample()'s, channels being positive: 0 of nearest, and along an axis along
  /// which the place was moved to the border. The same call gives the same bits each time.
  void grid_sample_backward_grid(Buffer grad_output, Buffer input, Buffer grid, Buffer grad_grid,
                                 Size batch, Size channels, std::span<const Size> shape,
                                 std::span<const Size> output_shape,
                                 SampleMode mode = SampleMode::bilinear,
                                 SamplePadding padding = SamplePadding::zeros,
                                 bool align_corners = false, DType dtype = DType::float32);

  /// output[i] = table[indices[i]], rows of row_size elements, of bfloat16 too; indices are int32.
  /// An index outside [0, table_rows) gives a row of NaN.
  void gather(Buffer table, Buffer indices, Buffer output, Size table_rows, Size row_size,
              Size count, DType dtype = DType::float32);

  /// output[indices[i]] = source[i], of bfloat16 too; other rows stay. An index outside
  /// [0, output_rows) is left out; of equal indices the last one counts.
  void scatter(Buffer source, Buffer indices, Buffer output, Size output_rows, Size row_size,
               Size count, DType dtype = DType::float32);

  // Elementwise and reductions ------------------------------------------------------------------

  /// Exactly n elements. output may be input.
  void unary(UnaryOp op, Buffer input, Buffer output, Size n, DType dtype = DType::float32);

  /// Exactly n elements. output may be a or b.
  void binary(BinaryOp op, Buffer a, Buffer b, Buffer output, Size n, DType dtype = DType::float32);

  /// binary with a number in place of b, or of a where scalar_first is true; it rounds to dtype.
  /// The numbers used last are kept on the device, until trim(). output may be a.
  void binary_scalar(BinaryOp op, Buffer a, double scalar, Buffer output, Size n,
                     bool scalar_first = false, DType dtype = DType::float32);

  /// binary over a shape, with a stride in elements for each dimension of a and of b: 0 broadcasts
  /// it. The output is contiguous; it may be an input whose strides are those of the output.
  void binary_broadcast(BinaryOp op, Buffer a, std::span<const Size> a_strides, Buffer b,
                        std::span<const Size> b_strides, Buffer output, std::span<const Size> shape,
                        DType dtype = DType::float32);

  /// Reduces one axis (negative counts from the end), which the output lacks. An empty axis gives 0
  /// for sum and NaN for mean, and is InvalidArgument for max and min.
  void reduce(ReduceOp op, Buffer input, Buffer output, std::span<const Size> shape, Size axis,
              DType dtype = DType::float32);

  /// Converts n elements of any dtype to any other, as Program::cast() does; to nearest even.
  void cast(Buffer input, DType from, Buffer output, DType to, Size n);

  /// Runs a program for each element of a shape: one operand for each of its inputs and outputs,
  /// and its numbers, in their order. The elements of an output must not meet; an input may be an
  /// output with the same strides and offset, whose elements are read before they are written.
  /// Throws Unsupported where the device lacks a dtype, or an op on it.
  void map(const Program& program, std::span<const Size> shape, std::span<const MapOperand> inputs,
           std::span<const Number> numbers, std::span<const MapOperand> outputs);

  /// map() of many groups of operands, each of a length of its own, with the same numbers: as a
  /// step of an optimiser for all parameters. GPUs take as many groups in one launch as a kernel
  /// binds buffers. Elements of an operand lie side by side, from its offset on; what has strides
  /// is map()'s. As in map() an input may be an output of its group with the same offset. Outputs
  /// of different groups, and what one group writes and another reads, may not overlap. Groups
  /// without elements do nothing. Throws Unsupported as map() does.
  void map_many(const Program& program, std::span<const MapGroup> groups,
                std::span<const Number> numbers);

  /// The inputs one after the other along an axis (negative counts from the end) of `shape`, the
  /// output's: inputs[i] has sizes[i] there, which add up to the shape's, and the output's size
  /// along all others. Elements of any dtype move as they are. Those of an operand lie side by
  /// side, from its offset on; what has strides is map()'s. GPUs take as many inputs in one launch
  /// as a kernel binds, 15 at most.
  void concat(std::span<const MapOperand> inputs, std::span<const Size> sizes,
              const MapOperand& output, std::span<const Size> shape, Size axis,
              DType dtype = DType::float32);

  /// Reduces what a program makes of each element of a shape along some axes (negative ones count
  /// from the end), which the outputs lack. The program has one output, in whose dtype the elements
  /// are joined: integers wrap as it does, float16 and bfloat16 are joined in float32; argmax and
  /// argmin give int64, the place among the reduced elements in the order of the axes; any and all
  /// give bool. Floats are added so that errors do not grow with the number of elements. Without
  /// elements sum gives 0, prod 1, any false and all true; the others are InvalidArgument.
  ///
  /// moments takes programs that give floats, and makes two results in float32, or of float64 in
  /// float64: the mean, and the sum of the squares of what elements are off it. GPUs read elements
  /// once, take each off one of their row's, and join parts by their numbers, means and squares
  /// (Chan's formula): the error of the squares is at most 24 units of their last place, however
  /// far the mean is from 0. The cpu backend takes two passes: there the square of what the mean is
  /// off, which is as much as a sum is over its number, comes to that of each element.
  ///
  /// A program `behind` gets the result as its first input (of argmax and argmin as int64 or int32;
  /// of moments both results as the first two) and behind_inputs, operands without the reduced
  /// axes, as the others; the outputs are its own. Outputs may not overlap any operand.
  void map_reduce(const Program& program, Reduction op, std::span<const Size> shape,
                  std::span<const Size> axes, std::span<const MapOperand> inputs,
                  std::span<const Number> numbers, std::span<const MapOperand> outputs,
                  const Program* behind = nullptr, std::span<const MapOperand> behind_inputs = {},
                  std::span<const Number> behind_numbers = {});

  /// Joins what a program makes of each element of a shape with all before it along one axis (with
  /// `reverse` all behind it), as map_reduce() joins them. With `exclusive` the element itself is
  /// left out, and where there is nothing before it stands 0 of sum, 1 of prod, and the least or
  /// largest number of max and min. The output has the dtype of the program's, and may not overlap
  /// an input.
  void scan(const Program& program, ScanOp op, std::span<const Size> shape, Size axis,
            std::span<const MapOperand> inputs, std::span<const Number> numbers,
            const MapOperand& output, bool exclusive = false, bool reverse = false);

  /// Reduces each row, which is the elements along `axes`, as one to eight folds say, one after
  /// another, and makes of its elements and of what was found what `elements` says: softmax, norms,
  /// losses and their gradients, in one launch that reads a row once where rows are short.
  ///
  /// The program of a fold has the inputs as its first inputs and what the folds before it found as
  /// the others; `elements` has the inputs and what all found, and outputs of the shape; `ends` has
  /// what all found, and outputs that lack the axes. Either may be none. Folds are sum, prod, max
  /// and min, of programs with one output of one dtype for all of them, float32, float64 or an
  /// integer of 32 or 64 bits, and join elements as map_reduce() does. Rows must have elements.
  /// Outputs may not overlap any operand.
  void map_rows(std::span<const RowFold> folds, std::span<const Size> shape,
                std::span<const Size> axes, std::span<const MapOperand> inputs,
                const RowProgram& elements, std::span<const MapOperand> outputs,
                const RowProgram& ends = {}, std::span<const MapOperand> end_outputs = {});

  // Sorts ---------------------------------------------------------------------------------------

  /// Each of the rows, `length` elements of any dtype, in ascending or descending order. NaN comes
  /// last in both. Equal elements, 0.0 and -0.0 among them, stay in the order that they were in.
  /// output may be input.
  void sort(Buffer input, Buffer output, Size rows, Size length, bool descending = false,
            DType dtype = DType::float32);

  /// The places in its row of the elements of each row as sort() orders them: int64 or int32.
  void argsort(Buffer input, Buffer indices, Size rows, Size length, bool descending = false,
               DType dtype = DType::float32, DType index_dtype = DType::int64);

  /// The first k elements of each row as sort() orders them, and their places: the largest ones, in
  /// descending order, or the least. Long rows are not sorted for it. With k = length it is sort()
  /// and argsort() at once.
  void topk(Buffer input, Buffer values, Buffer indices, Size rows, Size length, Size k,
            bool largest = true, DType dtype = DType::float32, DType index_dtype = DType::int64);

  // Indexing ------------------------------------------------------------------------------------

  /// output[p] = source[p + the steps that the indices at p make], for each p of a shape. The
  /// source's strides are 0 along what indices alone walk, so it may have none at all. `name` is
  /// what a message calls the work. Negative indices count from the end of their axis. One that is
  /// outside it is IndexOutOfRange, which the cpu backend throws at once; on a GPU the next read,
  /// synchronize() or wait() of an event does. Nothing outside is read or written; the output is
  /// undefined then.
  void gather_elements(const MapOperand& source, std::span<const IndexOperand> indices,
                       const MapOperand& output, std::span<const Size> shape,
                       DType dtype = DType::float32, std::string_view name = {});
  /// output[p + the steps that the indices at p make] = source[p]; other elements stay. Of equal
  /// places the cpu backend leaves the last one's element, a GPU that of one of them. Indices are
  /// those of gather_elements(); what lies outside is left out.
  void scatter_elements(const MapOperand& source, std::span<const IndexOperand> indices,
                        const MapOperand& output, std::span<const Size> shape,
                        DType dtype = DType::float32, std::string_view name = {});
  /// How many of n bools are true before each block of mask_block of them, and at the end how many
  /// there are: mask_counts_size(n) elements of uint32. What compact() and nonzero() need.
  void mask_counts(Buffer mask, Buffer counts, Size n);
  /// The elements of source where the mask is true, in their order: at most the first `count`.
  /// `counts` are the mask's. Where there are fewer, what follows them is not defined.
  void compact(Buffer mask, Buffer counts, Buffer source, Buffer output, Size n, Size count,
               DType dtype = DType::float32);
  /// The places where a mask of a shape is true, at most the first `count` of them, in the order of
  /// rows: output[axis, i], int64 or int32. `counts` are the mask's.
  void nonzero(Buffer mask, Buffer counts, Buffer output, std::span<const Size> shape, Size count,
               DType index_dtype = DType::int64);
  /// output[i], int64 or int32: the place in n ascending elements that values[i] would be put at,
  /// before those that are equal or, with `right`, behind them. NaN is the largest.
  void search_sorted(Buffer sorted, Buffer values, Buffer output, Size n, Size count,
                     bool right = false, DType dtype = DType::float32,
                     DType index_dtype = DType::int64);

  // Factorisations ------------------------------------------------------------------------------

  /// Factorisations work on `batch` matrices that lie one behind another, each by rows, of float32
  /// or float64; with is_complex an element is two of these, the real part first. What a matrix
  /// lacks is said in `status`, int32, and the call itself does not wait for it.
  ///
  /// factor = L with A = L L^H, lower triangular with zeros above, or with `upper` its conjugate
  /// transpose. Of A only the triangle on that side is read. status is 0, or the order of the first
  /// leading part that is not positive definite, and factor is not defined then. factor may be a.
  void cholesky(Buffer a, Buffer factor, Buffer status, Size n, Size batch = 1, bool upper = false,
                bool is_complex = false, DType dtype = DType::float32);

  /// Rows of A in the order of `permutation`, int32, are L U, by partial pivoting; factors has U
  /// and below its diagonal L, whose own is 1. status has two numbers for each matrix: 0 or the
  /// place, from 1 on, of the first pivot that is 0, and how many rows were exchanged. factors may
  /// be a.
  void lu(Buffer a, Buffer factors, Buffer permutation, Buffer status, Size n, Size batch = 1,
          bool is_complex = false, DType dtype = DType::float32);

  /// X of op(A) X = B, n x columns, or with `right` of X op(A) = B, columns x n. Of A, n x n, only
  /// the triangle on the side of `upper` is read, with `unit` without its diagonal, which is 1
  /// then. x may be b.
  void triangular_solve(Buffer a, Buffer b, Buffer x, Size n, Size columns, Size batch = 1,
                        bool upper = false, Transpose trans = Transpose::none, bool unit = false,
                        bool right = false, bool is_complex = false, DType dtype = DType::float32);

  /// A, m x n, = Q R by Householder reflections: with k the smaller of m and n, Q m x k and R k x
  /// n, or with `complete` Q m x m and R m x n. Where k is 0 nothing is written.
  void qr(Buffer a, Buffer q, Buffer r, Size m, Size n, Size batch = 1, bool complete = false,
          bool is_complex = false, DType dtype = DType::float32);

  /// The eigenvalues of symmetric or Hermitian matrices in ascending order, real, and with
  /// `with_vectors` their eigenvectors as columns; else vectors may be Buffer::null. Only one
  /// triangle of A is read, the upper one with `upper`. status is 0, or not where an element is not
  /// finite or the iteration did not converge, and the results are not defined then.
  void eigh(Buffer a, Buffer values, Buffer vectors, Buffer status, Size n, Size batch = 1,
            bool upper = false, bool with_vectors = true, bool is_complex = false,
            DType dtype = DType::float32);

  /// A, m x n, = U diag(values) V^H: with k the smaller of m and n, the k singular values in
  /// descending order, real, and with `with_vectors` U m x k and V^H k x n, or with `full` m x m
  /// and n x n; else u and vh may be Buffer::null. status is eigh()'s. Where k is 0 nothing is
  /// written.
  void svd(Buffer a, Buffer u, Buffer values, Buffer vh, Buffer status, Size m, Size n,
           Size batch = 1, bool full = false, bool with_vectors = true, bool is_complex = false,
           DType dtype = DType::float32);

  /// The eigenvalues of any square matrices, complex also where the matrices are real, and with
  /// `with_vectors` their eigenvectors, complex, of length 1, as columns; else vectors may be
  /// Buffer::null. status is eigh()'s.
  void eig(Buffer a, Buffer values, Buffer vectors, Buffer status, Size n, Size batch = 1,
           bool with_vectors = true, bool is_complex = false, DType dtype = DType::float32);

  // Fourier transforms --------------------------------------------------------------------------

  /// Discrete Fourier transforms of complex numbers, the real part of each first, in float32 or
  /// float64: of input as [outer, n, middle, inner] along n, into output as [outer, middle, n,
  /// inner], each times `scale`, positive and finite. n is a product of primes up to 97; the cpu
  /// backend takes any, webgpu also short ones that are convolved as a whole. `roots` are the n
  /// numbers exp(-2 pi i j / n), those of fft_roots() where longer primes are in n. The transforms
  /// of one that is n * middle long are these with `turns`, by which what stands at k of n and j of
  /// middle is turned by exp(-2 pi i j k / (n * middle)), and then those of length middle with
  /// n * inner in the place of inner. Turns are fft_turn_step(n * middle) roots of that length,
  /// from 0 on, and behind them each step-th, from 0 on. The inverse has all angles the other way
  /// round. GPUs take any n up to 512, and longer ones, 4,096 at most, where their workgroups hold
  /// 17/16 n numbers; more is Unsupported.
  void fft(Buffer input, Buffer roots, Buffer output, Size outer, Size n, Size middle = 1,
           Size inner = 1, bool inverse = false, double scale = 1,
           std::optional<Buffer> turns = std::nullopt, DType dtype = DType::float32);

  /// Transforms of rows of n real numbers: of each the first n / 2 + 1 complex ones, of which the
  /// others are the conjugates, or with `inverse` from these to the n real numbers, each times
  /// `scale`, positive and finite. Imaginary parts that such rows do not have, of the first one and
  /// where n is even of the last, are not read. `roots` and n are those of fft(), of
  /// fft_roots(n, true) where longer primes are in n; where n is even, GPUs take one twice as long.
  void fft_real(Buffer input, Buffer roots, Buffer output, Size rows, Size n, bool inverse = false,
                double scale = 1, DType dtype = DType::float32);

  // Sparse matrices -----------------------------------------------------------------------------

  /// Y = alpha * A X + beta * Y, with X cols x n, Y rows x n and A in CSR: the elements of row i
  /// are those from offsets[i] to offsets[i + 1] of `values`, in the columns that `columns` says,
  /// both int32, in any order; those of one place add up. `offsets`, int32, are rows + 1 numbers
  /// that ascend from 0 to nnz: where they do not, Y is undefined. beta == 0 does not read Y. A
  /// column outside is IndexOutOfRange, as of gather_elements(), and Y is undefined then. float16
  /// is summed in float32; float64 where the device has it. With is_complex, of float32 and
  /// float64, an element of values, X and Y is two of these, alpha and beta stay real. The work is
  /// cut into equal parts of elements and rows, whatever the rows' lengths are.
  ///
  /// Where block_rows and block_cols are more than 1 A is in BSR: rows, cols and nnz count blocks,
  /// which are dense, row by row in `values`; X is cols * block_cols x n, Y rows * block_rows x n.
  ///
  /// `batch` products in one call: that of i has offsets, columns, values, X and Y that start i
  /// strides into their buffers, in elements. Strides of 0 share what is read: one matrix for many
  /// X, or one pattern for many matrices. The results must not overlap.
  void sparse_matmul(Buffer offsets, Buffer columns, Buffer values, Buffer x, Buffer y, Size rows,
                     Size cols, Size nnz, Size n = 1, Size ldx = 1, Size ldy = 1, double alpha = 1,
                     double beta = 0, bool is_complex = false, DType dtype = DType::float32,
                     Size block_rows = 1, Size block_cols = 1, Size batch = 1,
                     Size stride_offsets = 0, Size stride_columns = 0, Size stride_values = 0,
                     Size stride_x = 0, Size stride_y = 0);

  // Quantised weights ---------------------------------------------------------------------------

  /// Weights of rows x cols, quantised along cols in blocks of a format: cols is a multiple of the
  /// block. `packed` is the format's planes, quantized_bytes(format, rows, cols) bytes, which
  /// tilewright/quantized.hpp lays out. output[rows, cols] are their values, in float32 as the
  /// format says them, to the bit, and rounded to dtype.
  void dequantize(Buffer packed, Buffer output, QuantFormat format, Size rows, Size cols,
                  DType dtype = DType::float32);

  /// y[m, n] = x[m, k] * W^T, where W, n x k, is quantised as dequantize() reads it; k > 0. x and y
  /// are of dtype, with leading dimensions; products are summed in float32, and no weight is
  /// rounded to dtype. Few rows of x read each packed byte once. bias, activation, slope, gated,
  /// the norm of x and `add` are those of linear(): with `gated` W and bias have 2 n results. On
  /// webgpu they are no launches of their own up to 8 rows.
  void quantized_matmul(Buffer x, Buffer packed, Buffer y, QuantFormat format, Size m, Size n,
                        Size k, Size ldx, Size ldy, DType dtype = DType::float32,
                        std::optional<Buffer> bias = std::nullopt,
                        Activation activation = Activation::none, double slope = 0.01,
                        bool gated = false, std::optional<double> norm_eps = std::nullopt,
                        std::optional<Buffer> norm_weight = std::nullopt, bool add = false);

  // Recurrent layers ----------------------------------------------------------------------------

  /// All steps of a recurrent layer in one direction. `inputs`, [steps, batch, gates * hidden], are
  /// the products of what goes in with the input's weights; to those of a step are added the
  /// products of the hidden state before it with `weights`, [gates * hidden, out]. Gates stand in
  /// PyTorch's order: i f g o of lstm, r z n of gru. out is hidden, or with `projection`,
  /// [projected, hidden], by which the hidden state of lstm is multiplied, `projected`.
  ///
  /// gru multiplies the products of the n gate, with their bias, by r; gru_reset_before multiplies
  /// the hidden state by r before the product. `bias`, [2, gates * hidden], are those of the inputs
  /// and of the products. `peepholes`, of lstm, [3 * hidden], are the factors of the cell state in
  /// i, f and o; beside them inputs have the biases in them already. What goes into gates and tanh
  /// is kept within -clip and clip, rounded to float32, where given.
  ///
  /// States are [batch, out] of the hidden and [batch, hidden] of the cell, which lstm has; initial
  /// ones that are not given are 0. The final ones are those behind a sequence's last step, and may
  /// be the initial ones. `lengths`, int32, says for each sequence how many steps it has, at least
  /// 0 and at most `steps`: a number outside counts as the nearest. Outputs, [steps, batch, out],
  /// behind its end are 0. With `reverse` a sequence is walked from its end to its start. inputs
  /// and outputs may lie with strides, as the operands of attention() do; outputs may not overlap
  /// any operand. float16 is computed, and its states are kept, in float32; float64 where the
  /// device has it.
  void recurrent(RecurrentCell cell, const MapOperand& inputs, Buffer weights,
                 const MapOperand& outputs, Size steps, Size batch, Size hidden,
                 std::optional<Buffer> initial_hidden = std::nullopt,
                 std::optional<Buffer> initial_cell = std::nullopt,
                 std::optional<Buffer> final_hidden = std::nullopt,
                 std::optional<Buffer> final_cell = std::nullopt,
                 std::optional<Buffer> lengths = std::nullopt,
                 std::optional<Buffer> bias = std::nullopt,
                 std::optional<Buffer> peepholes = std::nullopt,
                 std::optional<Buffer> projection = std::nullopt,
                 std::optional<Size> projected = std::nullopt, bool reverse = false,
                 std::optional<double> clip = std::nullopt, DType dtype = DType::float32);

  /// A layer: out[m, n] = activation(x[m, k] * weights^T + bias[n]), weights being [n, k], or where
  /// trans_weights is none x * weights of [k, n]. With `gated` weights and bias have twice as many
  /// results, and out is the activation of the first n times the others. Sums are float32 and
  /// rounded once. ldx, ldw and ldo are leading dimensions; slope is leaky_relu's alone.
  ///
  /// With norm_eps the rows of x are normed as rmsnorm() does, by norm_weight [k] where it is
  /// given: few rows without rounding them between. With `add` the result is added to what out
  /// has, and out is read.
  void linear(Transpose trans_weights, Size m, Size n, Size k, Buffer x, Size ldx, Buffer weights,
              Size ldw, Buffer out, Size ldo, std::optional<Buffer> bias = std::nullopt,
              Activation activation = Activation::none, double slope = 0.01, bool gated = false,
              DType dtype = DType::float32, std::optional<double> norm_eps = std::nullopt,
              std::optional<Buffer> norm_weight = std::nullopt, bool add = false);

  // Kernels of one's own ------------------------------------------------------------------------

  /// Compiles a kernel. Throws KernelError with the compiler's log where the code is wrong or asks
  /// for more than the device has. A kernel that is not trusted can neither leave its buffers nor
  /// loop without end.
  Kernel create_kernel(const KernelSource& source);
  /// Launches that are already queued still run.
  void free_kernel(Kernel kernel);
  /// free_kernel() for owners that clean up: does nothing for a handle that is not live here.
  void release_kernel(Kernel kernel) noexcept;
  KernelInfo kernel_info(Kernel kernel) const;
  /// Queues a grid of workgroups. buffers and the bytes of params are what kernel_info() lists, in
  /// its order. A view must start on a multiple of limits["min_binding_alignment"] and hold whole
  /// words of 4 bytes, or reach to its buffer's end. What the kernel may write can be no other
  /// binding that it only reads; on webgpu not even another part of the same buffer.
  void launch_kernel(Kernel kernel, std::span<const Buffer> buffers,
                     std::span<const std::byte> params, const std::array<Size, 3>& grid);

  // Profiling -----------------------------------------------------------------------------------

  /// From here on every launch is timed, of all threads: by the device's own clock, on the cpu
  /// backend every op by the host's. One profile at a time. Throws Unsupported where the device has
  /// no clock for its kernels.
  void begin_profile();
  /// Waits for the queued work, and gives the times of all launches since begin_profile().
  Profile end_profile();

 protected:
  Backend(std::string_view name, Config config);
  /// What an implementation counts its scratch in.
  std::shared_ptr<MemoryBudget> budget() const;
  /// close() for the destructors of implementations: also where this thread records.
  void shut_down();

 private:
  friend TILEWRIGHT_API std::shared_ptr<Choices> choices_of(Backend& backend);
  friend TILEWRIGHT_API Buffer alloc_at_hand(Backend& backend, Size bytes);
  friend TILEWRIGHT_API void scatter_number(Backend& backend, const Number& number,
                                            std::span<const IndexOperand> indices,
                                            const MapOperand& output, std::span<const Size> shape,
                                            DType dtype, std::string_view name);
  friend class BackendState;
  friend class Event;
  friend class FftPlan;
  friend class Recording;

  // What an implementation provides. Requests are checked: handles live, ranges inside, nothing of
  // size zero (but k of gemm, cols of matmul_vec, count of weighted_sum, table_rows of gather, N of
  // conv2d_backward_filter and the axis of reduce may be). An op left out throws Unsupported, as do
  // kernels and profiles; without do_host_memory there is none.
  virtual void do_init() = 0;
  virtual void do_close() noexcept = 0;
  virtual DeviceInfo do_device() const = 0;
  virtual Capabilities do_capabilities() const = 0;
  virtual PerformanceHints do_performance_hints() const = 0;
  virtual void do_synchronize() = 0;
  // Not needed where ops are done when they return.
  /// The place in the queue after all that is queued: places grow.
  virtual std::uint64_t do_mark();
  /// Whether the work up to a place is done and its reads have filled what they read to: looks at
  /// least once, and until the deadline. Throws what went wrong.
  virtual bool do_reach(std::uint64_t place, std::chrono::steady_clock::time_point deadline);
  virtual void do_flush();
  // Without these nothing can be recorded.
  /// From here on the ops of the calling thread, and its copies on the device, are kept.
  virtual void do_begin_recording();
  /// Ends that: what was kept, ready to be queued.
  virtual std::shared_ptr<RecordedWork> do_end_recording();
  /// Ends it for a recording that is dropped, also by another thread, while no op is being kept.
  virtual std::shared_ptr<RecordedWork> do_drop_recording() noexcept;
  virtual void do_replay(RecordedWork& work);
  /// The place from which on the read is done.
  virtual std::uint64_t do_copy_dtoh_async(HostRead read, Allocation& src, std::uint64_t offset);
  virtual std::shared_ptr<Choices> do_choices() const;
  /// From here on the calling thread's ops are planned and not run, until what is returned is gone.
  /// Without it they are run, on operands of their own.
  virtual std::unique_ptr<Rehearsal> do_rehearse();

  virtual std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) = 0;
  /// do_alloc() of freed memory that is kept for reuse, which waits for nothing; null where none is
  /// at hand.
  virtual std::shared_ptr<Allocation> do_alloc_at_hand(std::uint64_t bytes);
  virtual std::uint64_t do_max_buffer_bytes() const = 0;
  virtual std::uint64_t do_memory_limit() const = 0;
  virtual std::uint64_t do_cached_bytes() const = 0;
  virtual std::uint64_t do_cache_limit() const = 0;
  virtual void do_trim() = 0;
  virtual void do_copy_htod(Allocation& dst, std::span<const std::byte> src,
                            std::uint64_t offset) = 0;
  virtual void do_copy_dtoh(std::span<std::byte> dst, Allocation& src, std::uint64_t offset) = 0;
  virtual void do_copy_dtod(Allocation& dst, Allocation& src, std::uint64_t bytes,
                            std::uint64_t dst_offset, std::uint64_t src_offset) = 0;
  virtual std::byte* do_host_memory(Allocation& allocation) const;

#define TILEWRIGHT_DO(name, Request) virtual void do_##name(const Request& request);
  TILEWRIGHT_OPS(TILEWRIGHT_DO)
#undef TILEWRIGHT_DO

  virtual std::shared_ptr<CompiledKernel> do_create_kernel(const KernelSource& source);
  virtual void do_launch_kernel(const LaunchRequest& request);
  virtual void do_begin_profile();
  virtual Profile do_end_profile();

  void open();
  std::exception_ptr finish(const Session& session) noexcept;
  template <class Ask>
  auto ask_device(Ask ask);
  void run_gemm(GemmRequest& request);
  /// Gives an input of no elements that is null something to bind, where there are results.
  void stand_in(BufferRange& input);

  /// The number on the device, kept there for the next call.
  std::shared_ptr<Allocation> on_device(std::string_view op, const Scalar& scalar);
  void drop_scalars();

  std::string name_;
  Config config_;
  std::shared_ptr<BackendState> state_;  // events share it
};

}  // namespace tilewright
