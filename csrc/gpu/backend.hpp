#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "core/choices.hpp"
#include "gpu/buffer_pool.hpp"
#include "gpu/device.hpp"
#include "gpu/kernel_library.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {
struct ConvSums;
}

namespace tilewright::gpu {

struct ConvProduct;
struct GemmOperand;
struct GemmPackings;
struct GemmTarget;
struct RowPlan;

/// The trait on a GPU: plans each op once, for every API, as launches on a Device. Each op is in
/// the file of its name in ops/.
class GpuBackend final : public Backend {
 public:
  using OpenDevice = std::function<std::shared_ptr<Device>(const Config&)>;

  GpuBackend(std::string_view name, Config config, OpenDevice open);
  ~GpuBackend() override;

 private:
  void do_init() override;
  void do_close() noexcept override;
  DeviceInfo do_device() const override;
  Capabilities do_capabilities() const override;
  PerformanceHints do_performance_hints() const override;
  void do_synchronize() override;
  std::shared_ptr<Choices> do_choices() const override;

  std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) override;
  std::uint64_t do_max_buffer_bytes() const override;
  std::uint64_t do_memory_limit() const override;
  std::uint64_t do_cached_bytes() const override;
  std::uint64_t do_cache_limit() const override;
  void do_trim() override;
  void do_copy_htod(Allocation& dst, std::span<const std::byte> src, std::uint64_t offset) override;
  void do_copy_dtoh(std::span<std::byte> dst, Allocation& src, std::uint64_t offset) override;
  void do_copy_dtod(Allocation& dst, Allocation& src, std::uint64_t bytes, std::uint64_t dst_offset,
                    std::uint64_t src_offset) override;

  void do_gemm(const GemmRequest& request) override;
  void do_matmul_vec(const MatmulVecRequest& request) override;
  void do_conv2d_forward(const Conv2dRequest& request) override;
  void do_conv2d_backward_data(const Conv2dRequest& request) override;
  void do_conv2d_backward_filter(const Conv2dRequest& request) override;
  void do_attention(const AttentionRequest& request) override;
  void do_attention_scores(const AttentionScoresRequest& request) override;
  void do_weighted_sum(const WeightedSumRequest& request) override;
  void do_softmax(const SoftmaxRequest& request) override;
  void do_rmsnorm(const NormRequest& request) override;
  void do_layer_norm(const NormRequest& request) override;
  void do_rope(const RopeRequest& request) override;
  void do_gather(const GatherRequest& request) override;
  void do_scatter(const ScatterRequest& request) override;
  void do_unary(const UnaryRequest& request) override;
  void do_binary(const BinaryRequest& request) override;
  void do_reduce(const ReduceRequest& request) override;
  void do_cast(const CastRequest& request) override;

  std::shared_ptr<CompiledKernel> do_create_kernel(const KernelSource& source) override;
  void do_launch_kernel(const LaunchRequest& request) override;
  void do_begin_profile() override;
  Profile do_end_profile() override;

  /// Throws Unsupported where the device cannot store this type in kernels.
  void require(std::string_view op, DType dtype) const;
  /// The whole buffer, or its first `needed` bytes where one binding cannot hold it; Unsupported
  /// with both numbers where it cannot hold those either.
  Binding bind(std::string_view op, const AllocationRef& allocation, std::uint64_t needed) const;
  /// The grid of workgroups that cover `items`, `per_group` each.
  std::array<std::uint32_t, 3> cover(std::uint64_t items, std::uint64_t per_group) const;

  template <class Fill>
  const Pipeline& kernel(KernelId id, std::uint32_t variant, const Fill& fill) {
    return memory_->with_room(
        [&]() -> const Pipeline& { return kernels_->get(id, variant, fill); });
  }
  template <class Params, class Fill>
  void run(KernelId id, std::uint32_t variant, const Params& params,
           std::span<const Binding> bindings, const std::array<std::uint32_t, 3>& grid,
           const Fill& fill) {
    const Pipeline& pipeline = kernel(id, variant, fill);
    device_->launch({&pipeline, bindings, std::as_bytes(std::span(&params, 1)), grid});
  }

  /// The whole buffer, or what one binding holds of it, from a multiple of the window size on.
  Binding window(const AllocationRef& allocation, std::uint64_t offset) const;
  /// Calls body(offset in bytes, elements) for ranges that one binding holds.
  template <class Body>
  void for_windows(Size n, DType dtype, const Body& body) const {
    const Size most = static_cast<Size>(window_bytes() / size_of(dtype));
    for (Size first = 0; first < n; first += most) {
      body(static_cast<std::uint64_t>(first) * size_of(dtype), n - first < most ? n - first : most);
    }
  }
  std::uint64_t window_bytes() const;

  /// Whether elementwise kernels see by the length of their output's binding that there are n
  /// elements: sooner than by a parameter, which only few elements gain by. In SPIR-V a binding is
  /// a pointer.
  bool counted(Size n) const {
    constexpr Size most_counted = 1 << 18;
    return device_->language() == KernelLanguage::wgsl && n % 4 == 0 && n <= most_counted;
  }
  /// The output of such a kernel, from `offset` bytes on.
  Binding elements(const AllocationRef& allocation, std::uint64_t offset, Size n,
                   DType dtype) const;
  template <class Fill>
  void run_elements(KernelId id, std::uint32_t variant, Size n, std::span<const Binding> bindings,
                    std::uint32_t per_item, const Fill& fill) {
    constexpr std::uint32_t counted_variant = std::uint32_t{1} << 31;
    const std::array<std::uint32_t, 2> params{static_cast<std::uint32_t>(n), 0};
    const auto bytes = std::as_bytes(std::span(params));
    const Pipeline& pipeline =
        kernel(id, counted(n) ? variant | counted_variant : variant, [&](auto& variables) {
          fill(variables);
          if (device_->language() == KernelLanguage::wgsl) {
            variables["COUNTED"] = std::int64_t{counted(n)};
          }
        });
    device_->launch({&pipeline, bindings, counted(n) ? bytes.first(0) : bytes,
                     cover(static_cast<std::uint64_t>(n), per_item * elementwise_group_)});
  }

  /// By tiles, or without one where C has few rows or columns.
  void multiply(const GemmRequest& request, std::optional<std::size_t> tile, const GemmOperand& a,
                const GemmOperand& b, const Binding& c);
  void multiply_tiles(const GemmRequest& request, std::size_t tile, const GemmOperand& a,
                      const GemmOperand& b, const GemmTarget& target);
  void multiply_thin(const GemmRequest& request, const Binding& a, const Binding& b,
                     const GemmTarget& target);
  /// Makes a and b what the scratch memory returned then holds of them.
  AllocationRef pack(const GemmPackings& packings, const GemmRequest& request, GemmOperand& a,
                     GemmOperand& b);
  /// Bytes that an op may take for itself where it can do without.
  std::uint64_t scratch_limit() const;
  /// As many of the pieces that work is cut into as their scratch finds room, at least one.
  Size affordable(Size pieces, std::uint64_t bytes_of_piece) const;
  /// heads x rows products of matrix rows with vectors; some heads may share a matrix.
  struct RowsByVector {
    AllocationRef matrix, vector, out;
    Size rows, cols, heads, matrices;
    float factor;
    DType dtype;
  };
  void multiply_rows(std::string_view op, const RowsByVector& request);
  void attention_rows(const AttentionRequest& request, std::span<const Binding> inputs,
                      const Binding& output);
  /// False, with nothing done, where its scratch finds no room.
  bool conv_taps(std::string_view op, const Conv2dRequest& request, bool backward);
  /// Whether a forward pass is Winograd's, by the choice of conv2d_forward.
  bool takes_winograd(const Conv2dRequest& request) const;
  /// Tiles of 2x2 outputs that are worked on at once; 0 where there is no room.
  Size winograd_columns(const Conv2dRequest& request) const;
  /// False, with nothing done, where its scratch finds no room.
  bool conv_winograd(std::string_view op, const Conv2dRequest& request);
  void conv_product(const Conv2dRequest& request, const ConvProduct& product);
  void conv_meetings(std::string_view op, const ConvSums& sums);
  /// A tensor as [outer, length, inner], reduced along length.
  struct Extents {
    Size outer, length, inner;
  };
  void reduce(std::string_view name, ReduceOp op, const AllocationRef& input, DType input_dtype,
              const AllocationRef& output, DType output_dtype, const Extents& extents);
  void softmax_rows(const SoftmaxRequest& request, const RowPlan& plan);
  void norm(std::string_view op, const NormRequest& request, bool centred);

  /// Throws KernelError where the code does not compile, on a device kept for trying.
  void try_kernel(const KernelDescription& kernel);

  OpenDevice open_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<BufferPool> memory_;
  std::optional<KernelLibrary> kernels_;
  std::uint32_t elementwise_group_ = 0;  // work-items in a workgroup of unary, binary and cast
  std::shared_ptr<Choices> choices_;
  std::mutex trial_mutex_;
  std::shared_ptr<Device> trial_device_;  // opened by the first kernel of a user's own
};

}  // namespace tilewright::gpu
