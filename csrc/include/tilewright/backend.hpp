#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tilewright/device.hpp"
#include "tilewright/error.hpp"
#include "tilewright/export.hpp"
#include "tilewright/kernel.hpp"
#include "tilewright/profile.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

class Allocation;
class BackendState;
class CompiledKernel;
class Choices;
struct GemmRequest;
struct MatmulVecRequest;
struct Conv2dRequest;
struct AttentionRequest;
struct AttentionScoresRequest;
struct WeightedSumRequest;
struct SoftmaxRequest;
struct NormRequest;
struct RopeRequest;
struct GatherRequest;
struct ScatterRequest;
struct UnaryRequest;
struct BinaryRequest;
struct ReduceRequest;
struct CastRequest;
struct LaunchRequest;
class MemoryBudget;
class Scalar;

/// What a backend is made with. Each backend uses what applies to it.
struct Config {
  std::optional<Size> adapter_index;  ///< which of the backend's devices; unset: the best one
  std::string power_preference;       ///< "", "low" or "high"
  /// GPU backends: drivers check what they are given where they can, and each launch is waited for,
  /// so that an error comes from the call that caused it. On webgpu all kernels, trusted ones too,
  /// are kept within their buffers; level-zero has no such checks.
  bool debug_mode = false;
  std::optional<Size> max_buffer_size;  ///< bytes; lowers the device's own limit
  bool enable_pipeline_cache = true;    ///< false: each use of a GPU kernel compiles it again
  /// GPU backends: work-items in a workgroup of elementwise kernels, at most what the device takes.
  std::optional<Size> preferred_workgroup_size;
  /// Bytes in live and cached buffers and the scratch of ops together. An op whose scratch finds no
  /// room takes a form that needs less, where it has one, or throws OutOfMemory.
  std::optional<Size> memory_limit;
  /// Bytes of freed memory that are kept for reuse; 0 keeps nothing. Unset: a GPU with memory of
  /// its own keeps all until it has no more, and lets go of it then; where the memory is the
  /// host's, an eighth of it.
  std::optional<Size> cache_limit;
};

struct MemoryStats {
  std::uint64_t active_bytes = 0;        ///< in live buffers, as asked for
  std::uint64_t peak_bytes = 0;          ///< the most that live buffers and scratch have been
  std::uint64_t peak_scratch_bytes = 0;  ///< the most that ops have taken for themselves at a time
  std::uint64_t cached_bytes = 0;        ///< freed, kept for reuse; trim() returns them
  std::uint64_t allocations = 0;         ///< live buffers
  std::uint64_t total_allocations = 0;   ///< since init()
  std::uint64_t cache_limit_bytes = 0;   ///< what cached_bytes may reach
  std::uint64_t limit_bytes = 0;  ///< what live buffers, scratch and cache may reach together
};

/// The backend trait: one small interface to a GPU or CPU.
///
/// Conventions
/// - Matrices and tensors are row-major. Shapes, strides and leading dimensions count elements.
/// - Ops are queued in order and return at once; copy_dtoh and synchronize wait. An op that throws
///   has changed nothing.
/// - Zero-size work does nothing, but its arguments are still checked. A buffer that by the sizes
///   holds no elements may be Buffer::null, and the leading dimension of such a matrix 0.
/// - Every method may be called from any thread. Ops before init() or after close() throw
///   NotInitialized; a handle that is unknown, freed or of another backend is InvalidArgument; an
///   op that the backend lacks throws Unsupported.
/// - dtype is how the float buffers of an op are stored. float16 is computed in float32.
/// - An output must not be an input unless the call says that it may.
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
  /// it is closed. init() opens it again; handles from before stay invalid.
  void close();

  /// "webgpu", "level-zero" or "cpu".
  std::string_view name() const noexcept { return name_; }
  const Config& config() const noexcept { return config_; }
  DeviceInfo device() const;
  /// What the device can do, and what suits it. On a closed backend they open the device that
  /// init() would, and close it again.
  Capabilities capabilities();
  PerformanceHints performance_hints();
  /// Returns when all queued work is done.
  void synchronize();

  // Memory --------------------------------------------------------------------------------------

  /// A buffer of exactly `bytes` > 0, contents undefined. More than the device can ever hold is
  /// InvalidArgument, more than is free now OutOfMemory.
  Buffer alloc(Size bytes);
  /// Work that is already queued on the buffer still completes.
  void free(Buffer buffer);
  /// free() for owners that clean up: does nothing for a handle that is not live here.
  void release(Buffer buffer) noexcept;
  /// Copies all of src to `dst` at `offset` bytes. Past the end is InvalidArgument.
  void copy_htod(Buffer dst, std::span<const std::byte> src, Size offset = 0);
  /// Fills dst from `src` at `offset` bytes, after all work queued before.
  void copy_dtoh(std::span<std::byte> dst, Buffer src, Size offset = 0);
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
  /// C: the same, or float32 for float16 inputs.
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
  /// products are summed in float32.
  void gemm_mixed_precision(Precision precision, Transpose trans_a, Transpose trans_b, Size m,
                            Size n, Size k, double alpha, Buffer a, Size lda, Buffer b, Size ldb,
                            double beta, Buffer c, Size ldc);

  /// out[rows] = matrix[rows, cols] * vector[cols].
  void matmul_vec(Buffer matrix, Size rows, Size cols, Buffer vector, Buffer out,
                  DType dtype = DType::float32);

  // Neural network ops --------------------------------------------------------------------------

  /// output[N,K,P,Q] = input[N,C,H,W] * filter[K,C/groups,R,S] (+ bias[K]), cross-correlation as in
  /// every neural-network library. P = (H + 2 pad_h - dilation_h (R-1) - 1) / stride_h + 1, rounded
  /// down, must be the given one; Q likewise. N may be 0, every other size must be positive.
  void conv2d_forward(Buffer input, const Shape4& input_shape, Buffer filter,
                      const Shape4& filter_shape, Buffer output, const Shape4& output_shape,
                      const Pair& stride, const Pair& pad, const Pair& dilation = {1, 1},
                      Size groups = 1, std::optional<Buffer> bias = std::nullopt,
                      DType dtype = DType::float32);

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

  /// o = softmax(scale * q k^T) v with q, o [batch, heads, seq_q, head_dim] and
  /// k, v [batch, kv_heads, seq_kv, head_dim]; head h reads kv head h / (heads / kv_heads).
  /// causal: query i sees keys j <= i + q_offset. All sizes positive, scale finite and positive. No
  /// seq_q x seq_kv matrix is stored.
  void attention(Buffer q, Buffer k, Buffer v, Buffer o, Size batch, Size heads, Size seq_q,
                 Size seq_kv, Size head_dim, double scale, bool causal, Size q_offset = 0,
                 std::optional<Size> kv_heads = std::nullopt, DType dtype = DType::float32);

  /// scores[heads, seq] = scale * keys[kv_heads, seq, head_dim] . q[heads, head_dim].
  void attention_scores(Buffer q, Buffer keys, Buffer scores, Size seq, Size head_dim, double scale,
                        Size heads = 1, std::optional<Size> kv_heads = std::nullopt,
                        DType dtype = DType::float32);

  /// output[heads, dim] = weights[heads, count] * rows[kv_heads, count, dim].
  void weighted_sum(Buffer weights, Buffer rows, Buffer output, Size count, Size dim,
                    Size heads = 1, std::optional<Size> kv_heads = std::nullopt,
                    DType dtype = DType::float32);

  /// Along one axis (negative counts from the end). output may be input.
  void softmax(Buffer input, Buffer output, std::span<const Size> shape, Size axis,
               DType dtype = DType::float32);

  /// out = x * weight / sqrt(mean(x^2) + eps), row by row. out may be x.
  void rmsnorm(Buffer x, Buffer weight, Buffer out, Size rows, Size cols, double eps,
               DType dtype = DType::float32);

  /// out = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias, row by row. out may be x.
  void layer_norm(Buffer x, Buffer weight, Buffer bias, Buffer out, Size rows, Size cols,
                  double eps, DType dtype = DType::float32);

  /// unary with that op.
  void silu(Buffer input, Buffer output, Size n, DType dtype = DType::float32);
  void gelu(Buffer input, Buffer output, Size n, DType dtype = DType::float32);

  /// Rotates the pairs (i, i + head_dim/2) of x[batch, heads, seq, head_dim] by the angles whose
  /// cosines and sines are row `position + s` of cos and sin [table_rows, head_dim/2]. output may
  /// be x.
  void rope(Buffer x, Buffer cos, Buffer sin, Buffer output, Size batch, Size heads, Size seq,
            Size head_dim, Size table_rows, Size position = 0, DType dtype = DType::float32);

  /// output[i] = table[indices[i]], rows of row_size elements; indices are int32. An index outside
  /// [0, table_rows) gives a row of NaN.
  void gather(Buffer table, Buffer indices, Buffer output, Size table_rows, Size row_size,
              Size count, DType dtype = DType::float32);

  /// output[indices[i]] = source[i]; other rows stay. An index outside [0, output_rows) is left
  /// out; of equal indices the last one counts.
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

  /// Converts n elements of any type to float32 or float16, to nearest even.
  void cast(Buffer input, DType from, Buffer output, DType to, Size n);

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
  /// its order. A buffer that the kernel may write can be no other binding that it only reads.
  void launch_kernel(Kernel kernel, std::span<const Buffer> buffers,
                     std::span<const std::byte> params, const std::array<Size, 3>& grid);

  // Profiling -----------------------------------------------------------------------------------

  /// From here on the device times every launch, of all threads. One profile at a time. Throws
  /// Unsupported where the device has no clock for its kernels.
  void begin_profile();
  /// Waits for the queued work, and gives the times of all launches since begin_profile().
  Profile end_profile();

 protected:
  Backend(std::string_view name, Config config);
  /// What an implementation counts its scratch in.
  std::shared_ptr<MemoryBudget> budget() const;

 private:
  friend TILEWRIGHT_API std::shared_ptr<Choices> choices_of(Backend& backend);

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
  virtual std::shared_ptr<Choices> do_choices() const;

  virtual std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) = 0;
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

  virtual void do_gemm(const GemmRequest& request);
  virtual void do_matmul_vec(const MatmulVecRequest& request);
  virtual void do_conv2d_forward(const Conv2dRequest& request);
  virtual void do_conv2d_backward_data(const Conv2dRequest& request);
  virtual void do_conv2d_backward_filter(const Conv2dRequest& request);
  virtual void do_attention(const AttentionRequest& request);
  virtual void do_attention_scores(const AttentionScoresRequest& request);
  virtual void do_weighted_sum(const WeightedSumRequest& request);
  virtual void do_softmax(const SoftmaxRequest& request);
  virtual void do_rmsnorm(const NormRequest& request);
  virtual void do_layer_norm(const NormRequest& request);
  virtual void do_rope(const RopeRequest& request);
  virtual void do_gather(const GatherRequest& request);
  virtual void do_scatter(const ScatterRequest& request);
  virtual void do_unary(const UnaryRequest& request);
  virtual void do_binary(const BinaryRequest& request);
  virtual void do_reduce(const ReduceRequest& request);
  virtual void do_cast(const CastRequest& request);

  virtual std::shared_ptr<CompiledKernel> do_create_kernel(const KernelSource& source);
  virtual void do_launch_kernel(const LaunchRequest& request);
  virtual void do_begin_profile();
  virtual Profile do_end_profile();

  void open();
  template <class Ask>
  auto ask_device(Ask ask);
  void run_gemm(GemmRequest& request);
  /// Gives an input of no elements that is null something to bind, where there are results.
  void stand_in(std::shared_ptr<Allocation>& input);

  /// The number on the device, kept there for the next call.
  std::shared_ptr<Allocation> on_device(const Scalar& scalar);
  void drop_scalars();

  std::string name_;
  Config config_;
  std::unique_ptr<BackendState> state_;
};

}  // namespace tilewright
