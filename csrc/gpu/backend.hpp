#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/all_requests.hpp"
#include "core/choices.hpp"
#include "gpu/buffer_pool.hpp"
#include "gpu/device.hpp"
#include "gpu/faults.hpp"
#include "gpu/kernel_library.hpp"
#include "gpu/launch_plan.hpp"
#include "gpu/operands.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/plan.hpp"
#include "gpu/plan_cache.hpp"
#include "gpu/program_library.hpp"
#include "gpu/recorder.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {
struct ConcatPart;
struct ConvSums;
}  // namespace tilewright

namespace tilewright::gpu {

struct BoundMatrices;
struct Conjugates;
struct MatrixPart;
struct MatrixConv;
struct ConvProduct;
struct MapPiece;
struct MapPlaces;
struct GroupLaunch;
struct FoldRegion;
struct FoldStep;
struct PiecePlan;
struct QuantizedMatrixForm;
struct QuantizedOperands;
struct QuantizedTarget;
struct RowPlan;
struct SortRows;

enum class OpId : std::uint8_t {
#define TILEWRIGHT_OP_ID(name, Request) name,
  TILEWRIGHT_OPS(TILEWRIGHT_OP_ID)
#undef TILEWRIGHT_OP_ID
};

struct PiecesRoom;

/// Whether plans of such requests are kept: they say what a plan follows from.
template <class Request>
concept has_values = requires(const Request& r) { Request::values(r, [](const auto&) {}); };

/// The trait on a GPU: plans each op once, for every API, as launches on a Device. Each op is in
/// the file of its name in ops/.
class GpuBackend final : public Backend {
 public:
  using OpenDevice = std::function<std::shared_ptr<Device>(const Config&, DeviceUse)>;

  GpuBackend(std::string_view name, Config config, OpenDevice open);
  ~GpuBackend() override;

  using Plans = PlanCache<PlanKey, std::shared_ptr<const LaunchPlan>>;
  /// Those of ops that were asked for lately.
  const Plans& plans() const { return *plans_; }

 private:
  void do_init() override;
  void do_close() noexcept override;
  DeviceInfo do_device() const override;
  Capabilities do_capabilities() const override;
  PerformanceHints do_performance_hints() const override;
  void do_synchronize() override;
  std::uint64_t do_mark() override;
  bool do_reach(std::uint64_t place, std::chrono::steady_clock::time_point deadline) override;
  void do_flush() override;
  void do_begin_recording() override;
  std::shared_ptr<RecordedWork> do_end_recording() override;
  std::shared_ptr<RecordedWork> do_drop_recording() noexcept override;
  void do_replay(RecordedWork& work) override;
  std::shared_ptr<Choices> do_choices() const override;
  std::unique_ptr<Rehearsal> do_rehearse() override;

  std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) override;
  std::shared_ptr<Allocation> do_alloc_at_hand(std::uint64_t bytes) override;
  std::uint64_t do_max_buffer_bytes() const override;
  std::uint64_t do_memory_limit() const override;
  std::uint64_t do_cached_bytes() const override;
  std::uint64_t do_cache_limit() const override;
  void do_trim() override;
  void do_copy_htod(Allocation& dst, std::span<const std::byte> src, std::uint64_t offset) override;
  void do_copy_dtoh(std::span<std::byte> dst, Allocation& src, std::uint64_t offset) override;
  std::uint64_t do_copy_dtoh_async(HostRead read, Allocation& src, std::uint64_t offset) override;
  void do_copy_dtod(Allocation& dst, Allocation& src, std::uint64_t bytes, std::uint64_t dst_offset,
                    std::uint64_t src_offset) override;

#define TILEWRIGHT_DO(name, Request)                                      \
  void do_##name(const Request& r) override {                             \
    run_op(OpId::name, call_of(#name, r), r, &GpuBackend::launch_##name); \
  }
  TILEWRIGHT_OPS(TILEWRIGHT_DO)
#undef TILEWRIGHT_DO

  std::shared_ptr<CompiledKernel> do_create_kernel(const KernelSource& source) override;
  void do_launch_kernel(const LaunchRequest& request) override;
  void do_begin_profile() override;
  Profile do_end_profile() override;

  // The ops, on operands that launches can bind.
#define TILEWRIGHT_LAUNCH(name, Request) void launch_##name(const Request& request);
  TILEWRIGHT_OPS(TILEWRIGHT_LAUNCH)
#undef TILEWRIGHT_LAUNCH
  struct FftLaunch;
  void run_fft(const FftLaunch& launch);
  struct RecurrentLaunch;

  /// Calls launch(request), with copies on the device in place of operands that no launch can bind.
  template <class Request>
  void run_op(OpId id, std::string_view op, const Request& request,
              void (GpuBackend::*launch)(const Request&)) {
    const Operands operands(request);
    if (can_bind(operands.all(), device_->limits())) [[likely]] {
      if constexpr (has_values<Request>) {
        return run_planned(id, op, request, operands.all(), launch);
      } else {
        return (this->*launch)(request);
      }
    }
    if constexpr (requires {
                    Request::head_rows(request, [](const BufferRange&, const HeadRows&, DType) {});
                  }) {
      if (const auto moved = bound_before(request)) return run_op(id, op, *moved, launch);
    }
    const std::vector<StandIn> stand_ins = take_stand_ins(op, operands.all());
    Request replaced = request;
    Request::operands(replaced, [&](BufferRange& range, Access) {
      const auto is_for = [&](const StandIn& stand_in) { return stand_in.of.range == range; };
      const auto found = std::ranges::find_if(stand_ins, is_for);
      if (found != stand_ins.end()) range = found->scratch;
    });
    (this->*launch)(replaced);
    copy_back(stand_ins);
  }
  /// A request whose operands say where in their ranges they start, with ranges that start where
  /// bindings may; none where all do.
  template <class Request>
  std::optional<Request> bound_before(const Request& request) const {
    const std::uint64_t alignment = device_->limits().binding_alignment;
    Request moved = request;
    bool some = false;
    Request::head_rows(moved, [&](BufferRange& range, HeadRows& rows, DType dtype) {
      const std::uint64_t bytes = range.offset & (alignment - 1);
      some = some || bytes != 0;
      range.offset -= bytes;
      range.bytes += bytes;
      rows.start += static_cast<Size>(bytes / size_of(dtype));
    });
    return some ? std::optional(std::move(moved)) : std::nullopt;
  }
  // Programs and moves walk from any place, and see to the others themselves.
  void run_op(OpId id, std::string_view op, const MoveRequest& request,
              void (GpuBackend::*launch)(const MoveRequest&));
  void run_op(OpId id, std::string_view op, const MapRequest& request,
              void (GpuBackend::*launch)(const MapRequest&));
  void run_op(OpId, std::string_view, const MapManyRequest& request,
              void (GpuBackend::*launch)(const MapManyRequest&)) {
    (this->*launch)(request);
  }
  void run_op(OpId id, std::string_view op, const ConcatRequest& request,
              void (GpuBackend::*launch)(const ConcatRequest&));
  void run_op(OpId id, std::string_view op, const FoldRequest& request,
              void (GpuBackend::*launch)(const FoldRequest&));
  void run_op(OpId id, std::string_view op, const RowsRequest& request,
              void (GpuBackend::*launch)(const RowsRequest&));
  void run_op(OpId id, std::string_view op, const CastRequest& request,
              void (GpuBackend::*launch)(const CastRequest&));

  /// Launches a request as a kept plan says, or plans it and keeps that.
  template <class Request>
  void run_planned(OpId id, std::string_view op, const Request& request,
                   std::span<const Operand> operands, void (GpuBackend::*launch)(const Request&)) {
    PlanKey key(static_cast<std::uint64_t>(id));
    Request::values(request, [&](const auto& value) { key.add(value); });
    std::array<OperandPlace, Operands::most> places;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const BufferRange& range = *operands[i].range;
      places[i] = range ? OperandPlace{&buffer_of(range), range.offset} : OperandPlace{nullptr, 0};
    }
    const auto used = std::span<const OperandPlace>(places).first(operands.size());
    key.add(used);
    constexpr bool grows = requires { Request::grows; };
    run_planned(op, key, used, {}, {}, [&] { (this->*launch)(request); }, grows);
  }
  using Programs = std::span<const std::shared_ptr<const ProgramData>>;
  /// The same by the key, with the programs of the request. The numbers are the last words of each
  /// launch's parameters, and no part of the plan. What `grows` is kept from the second time on.
  template <class Launch>
  void run_planned(std::string_view op, PlanKey& key, std::span<const OperandPlace> operands,
                   std::span<const std::uint32_t> numbers, Programs programs, const Launch& launch,
                   bool grows = false) {
    if (!may_plan(key)) return launch();
    key.seal();
    const std::shared_ptr<const LaunchPlan> kept = plans_->find(key);
    if (kept && (programs.empty() || is_of(*kept, programs))) [[likely]] {
      if (run_plan(op, *kept, operands, numbers)) return;
    }
    if (recorder_->is_watched() || (grows && !plans_->asked_before(key))) return launch();
    std::shared_ptr<LaunchPlan> made;
    {
      PlanCapture capture(*recorder_, *faults_, operands);
      launch();
      made = capture.take();
    }
    if (!made) return;
    made->programs.assign(programs.begin(), programs.end());
    plans_->keep(key, std::move(made));
  }
  /// Whether plans of this key are kept: not beside tools, which change the choices and watch which
  /// are made.
  bool may_plan(const PlanKey& key) const;
  static bool is_of(const LaunchPlan& plan, Programs programs);
  /// False, with nothing done, where its scratch finds no room.
  bool run_plan(std::string_view op, const LaunchPlan& plan, std::span<const OperandPlace> operands,
                std::span<const std::uint32_t> numbers);
  void run_steps(const LaunchPlan& plan, std::span<const OperandPlace> operands,
                 std::span<const AllocationRef> scratch, std::span<const std::uint32_t> numbers);

  /// Scratch in an operand's place.
  struct StandIn {
    CopiedRange of;
    AllocationRef scratch;
  };
  std::vector<StandIn> take_stand_ins(std::string_view op, std::span<const Operand> operands);
  void copy_back(std::span<const StandIn> stand_ins);

  /// Throws Unsupported where the device cannot store this type in kernels.
  void require(std::string_view op, DType dtype) const {
    if (dtype == DType::float16 && !device_->limits().float16) [[unlikely]]
      lacks_float16(op);
  }
  [[noreturn]] void lacks_float16(std::string_view op) const;
  /// The buffer from the range on, or as much of it as one binding holds; Unsupported with both
  /// numbers where that is less than `needed`.
  Binding bind(std::string_view op, const BufferRange& range, std::uint64_t needed) const;
  /// The grid of workgroups that cover `items`, `per_group` each.
  std::array<std::uint32_t, 3> cover(std::uint64_t items, std::uint64_t per_group) const {
    return row_grid((items + per_group - 1) / per_group, device_->limits().max_groups);
  }

  template <class Fill>
  const Pipeline& kernel(KernelId id, std::uint32_t variant, const Fill& fill) {
    if (recorder_->rehearses()) [[unlikely]]
      return no_pipeline();
    return memory_->with_room(
        [&]() -> const Pipeline& { return kernels_->get(id, variant, fill); });
  }
  /// In place of one that is not launched.
  static const Pipeline& no_pipeline();
  /// The same for programs, whose code tells whether there is one.
  std::shared_ptr<const Pipeline> program_pipeline(
      const std::shared_ptr<const ProgramData>& program, const ProgramForm& form);
  template <class Params, class Fill>
  void run(KernelId id, std::uint32_t variant, const Params& params,
           std::span<const Binding> bindings, const std::array<std::uint32_t, 3>& grid,
           const Fill& fill) {
    const Pipeline& pipeline = kernel(id, variant, fill);
    device_->launch({&pipeline, bindings, std::as_bytes(std::span(&params, 1)), grid});
  }

  /// The buffer from `offset` bytes of the range on, a multiple of the window size, or as much of
  /// it as one binding holds.
  Binding window(const BufferRange& range, std::uint64_t offset) const {
    DeviceBuffer& buffer = buffer_of(range);
    const std::uint64_t start = range.offset + offset;
    return {&buffer, start, std::min(buffer.bytes() - start, device_->limits().max_binding_bytes)};
  }
  /// Calls body(offset in bytes, elements) for ranges that one binding holds.
  template <class Body>
  void for_windows(Size n, DType dtype, const Body& body) const {
    const auto most = static_cast<Size>(window_bytes() >> std::countr_zero(size_of(dtype)));
    for (Size first = 0; first < n; first += most) {
      body(static_cast<std::uint64_t>(first) * size_of(dtype), n - first < most ? n - first : most);
    }
  }
  std::uint64_t window_bytes() const {
    constexpr std::uint64_t coarse = 1024;
    return device_->limits().max_binding_bytes / coarse * coarse;
  }

  /// Whether elementwise kernels see by the length of their output's binding that there are n
  /// elements: sooner than by a parameter, which only few elements gain by.
  bool counted(Size n) const {
    constexpr Size most_counted = 1 << 18;
    return device_->limits().counts_bindings && n % 4 == 0 && n <= most_counted;
  }
  /// The output of such a kernel, from `offset` bytes of the range on.
  Binding elements(const BufferRange& range, std::uint64_t offset, Size n, DType dtype) const {
    if (!counted(n)) return window(range, offset);
    return {&buffer_of(range), range.offset + offset, bytes_of(n, dtype)};
  }
  template <class Fill>
  void run_elements(KernelId id, std::uint32_t variant, Size n, std::span<const Binding> bindings,
                    std::uint32_t per_item, const Fill& fill) {
    constexpr std::uint32_t counted_variant = std::uint32_t{1} << 31;
    const std::array<std::uint32_t, 2> params{static_cast<std::uint32_t>(n), 0};
    const auto bytes = std::as_bytes(std::span(params));
    const bool is_counted = counted(n);
    const Pipeline& pipeline =
        kernel(id, is_counted ? variant | counted_variant : variant, [&](auto& variables) {
          fill(variables);
          if (device_->limits().counts_bindings) variables["COUNTED"] = std::int64_t{is_counted};
        });
    device_->launch({&pipeline, bindings, is_counted ? bytes.first(0) : bytes,
                     cover(static_cast<std::uint64_t>(n), per_item * elementwise_group_)});
  }

  /// How the request that was `asked`, as `request` has it by now, is launched.
  GemmForm gemm_form(const GemmRequest& request, bool vectors, Size lda, const GemmRequest& asked,
                     std::size_t rule) const;
  GemmPlan plan_gemm(const GemmRequest& request) const;
  /// How matrix units make a product whose lines are whole vec4 of eight, where they pay: of the
  /// request that was `asked`, whose cost without them is known.
  std::optional<MatrixForm> matrix_form(const GemmRequest& request, const GemmRequest& asked,
                                        double plain_cost) const;
  /// Where A or B lies in what holds both in blocks.
  GemmOperand blocks_in(const MatrixBlocks& blocks, const Binding& packed, bool columns) const;
  GemmOperand lay_in_blocks(const GemmRequest& request, const MatrixBlocks& blocks,
                            const GemmOperand& from, const Binding& packed, bool columns);
  AllocationRef room_for_blocks(std::string_view op, const MatrixBlocks& blocks);
  /// A and B of such a product in blocks.
  AllocationRef pack_blocks(const GemmRequest& request, const MatrixBlocks& blocks, GemmOperand& a,
                            GemmOperand& b);
  /// int8 or uint8 on matrix units that take blocks; false where there are none or it does not pay.
  bool multiply_byte_blocks(const GemmRequest& request, const Binding& a, const Binding& b,
                            const Binding& c);
  /// The same of float16 with quantised weights; `bindings` are their planes, x and y.
  bool multiply_quantized_blocks(const QuantizedMatmulRequest& request,
                                 std::span<const Binding> bindings, const GemmEnd* end);
  /// How matrix units make a product of float32 that may be rounded or split, where it pays.
  std::optional<GemmSplit> gemm_split(const GemmRequest& request, double plain_cost) const;
  /// Throws OutOfMemory before it has done anything.
  void multiply_split(const GemmRequest& request, const GemmSplit& split, const Binding& a,
                      const Binding& b, const Binding& c);
  /// The largest finite magnitudes of the rows of op(A), and of the columns of op(B).
  void measure_lines(const GemmRequest& request, const Binding& a, const Binding& b,
                     const Binding& largest);
  /// Products by parts that bindings hold; false, with nothing done, where they cannot be cut so.
  bool gemm_windows(const GemmRequest& request);
  bool linear_windows(const LinearRequest& request);
  void multiply_planned(const GemmRequest& request, const Binding& a, const Binding& b,
                        const Binding& c, const GemmEnd* end);
  void multiply_form(const GemmRequest& request, const GemmForm& form, const GemmOperand& a,
                     const GemmOperand& b, const Binding& c, const GemmEnd* end);
  void multiply_bytes(const GemmRequest& request, const Binding& a, const Binding& b,
                      const Binding& c);
  /// On matrix units, where they pay beside `plain_cost`. False, with nothing done, where they do
  /// not or there is no room.
  bool multiply_bytes_matrix(const GemmRequest& request, double plain_cost, const Binding& a,
                             const Binding& b, const Binding& c);
  void fill_zeros(const Binding& binding, Size words);
  void multiply_doubles(const GemmRequest& request, const Binding& a, const Binding& b,
                        const Binding& c);
  void multiply(const GemmRequest& request, const GemmForm& form, Size pieces, const GemmOperand& a,
                const GemmOperand& b, const Binding& c, const GemmEnd* end);
  /// C of the products of pieces of k, tight matrices of float32 one behind the other.
  void join_products(const GemmRequest& request, Size pieces, const Binding& products,
                     const Binding& c, const GemmEnd* end);
  void multiply_tiles(const GemmRequest& request, std::size_t tile, const GemmOperand& a,
                      const GemmOperand& b, const GemmTarget& target);
  void multiply_matrix(const GemmRequest& request, const MatrixForm& form, const GemmOperand& a,
                       const GemmOperand& b, const GemmTarget& target);
  void multiply_thin(const GemmRequest& request, const Binding& a, const Binding& b,
                     const GemmTarget& target);
  /// A product with quantised weights whose operands fit in bindings.
  void multiply_quantized(const QuantizedMatmulRequest& request, QuantizedOperands operands);
  /// One of which some do not: parts of its rows, and of each `weights` rows of weights at a time;
  /// `keeps`: their sums, until all of a row are there.
  void multiply_quantized_windows(const QuantizedMatmulRequest& request);
  void multiply_quantized_rows(const QuantizedMatmulRequest& request, Size weights, bool keeps,
                               Size ldx, Size ldy);
  /// Few rows by quantised weights, with all that the request asks for.
  void multiply_quantized_few(const QuantizedMatmulRequest& request,
                              const QuantizedOperands& operands);
  /// Any number of rows, normed before; `end` where the sums are not the results.
  void multiply_quantized_many(const QuantizedMatmulRequest& request,
                               const QuantizedOperands& operands, const GemmEnd* end);
  /// How matrix units take a product of many rows of float16 with quantised weights.
  std::optional<QuantizedMatrixForm> quantized_matrix_form(
      const QuantizedMatmulRequest& request) const;
  void multiply_quantized_matrix(const QuantizedMatmulRequest& request, std::size_t tile,
                                 const QuantizedTarget& target, std::span<const Binding> bindings);
  /// Whether multiply_rows() takes a product: few rows by a matrix whose rows are whole 16 bytes.
  bool is_by_rows(const GemmRequest& request) const;
  void multiply_rows(const GemmRequest& request, const Binding& a, const Binding& b,
                     const Binding& c, const GemmEnd* end, const GemmNorm* norm = nullptr);
  /// Rows of x, ldx apart, normed, one behind the other.
  AllocationRef normed_rows(std::string_view op, const RowNorm& norm, const BufferRange& x,
                            Size rows, Size cols, Size ldx, DType dtype);
  /// Makes a and b what the scratch memory returned then holds of them.
  AllocationRef pack(const GemmPackings& packings, const GemmRequest& request, GemmOperand& a,
                     GemmOperand& b);
  /// Bytes that an op may take for itself where it can do without.
  std::uint64_t scratch_limit() const;
  /// As many of the pieces that work is cut into as their scratch finds room, at least one.
  Size affordable(Size pieces, std::uint64_t bytes_of_piece) const;
  /// The op that is planned goes another way where there is more room: its plan is not kept.
  void plans_by_room() const;
  /// heads x rows products of matrix rows with vectors; some heads may share a matrix.
  struct RowsByVector {
    BufferRange matrix, vector, out;
    HeadRows matrix_rows, vector_rows, out_rows;
    Size rows, cols, heads, matrices;
    float factor;
    DType dtype;
  };
  void multiply_rows(std::string_view op, const RowsByVector& request);
  void attention_general(const AttentionRequest& request);
  /// The same of few queries; false, with nothing done, where it is for others.
  bool attention_decode(const AttentionRequest& request);
  /// The same of many.
  bool attention_many(const AttentionRequest& request);
  /// The same on matrix units.
  bool attention_units(const AttentionRequest& request);
  /// By a tile of unit_tiles that takes it.
  void attention_matrix(const AttentionRequest& request, std::size_t tile);
  /// o of the sums over pieces of its keys.
  void join_pieces(const AttentionRequest& request, const AllocationRef& sums,
                   const PiecesRoom& room, const Binding& o, Size pieces);
  void attention_rows(const AttentionRequest& request, std::span<const Binding> inputs,
                      const Binding& output);
  /// False, with nothing done, where its scratch finds no room.
  /// False where the product is small or there is no room to lay it out.
  bool conv_columns(std::string_view op, const Conv2dRequest& request);
  bool conv_taps(std::string_view op, const Conv2dRequest& request, bool backward);
  /// False where the table would be long, or the device compiles no templates.
  bool conv_spots(std::string_view op, const Conv2dRequest& request, bool backward);
  /// The gradient of an input by lines of what each tap adds. False, with nothing done, where it
  /// does not pay or its scratch finds no room.
  bool conv_fold(std::string_view op, const Conv2dRequest& request);
  /// A candidate of conv2d_forward, for a forward pass or the gradient of an input.
  std::size_t conv_choice(const Conv2dRequest& request) const;
  /// On matrix units, by one of their tiles. False, with nothing done, where its scratch finds no
  /// room.
  bool conv_matrix(std::string_view op, const Conv2dRequest& request, std::size_t tile);
  void pack_conv_source(const Conv2dRequest& request, const MatrixConv& conv,
                        std::span<const Binding> bindings);
  void pack_conv_filter(const Conv2dRequest& request, const MatrixConv& conv,
                        std::span<const Binding> bindings);
  void multiply_conv(const Conv2dRequest& request, const MatrixConv& conv, std::size_t tile,
                     std::span<const Binding> bindings);
  /// Whether Winograd's kernels can make a forward pass, and in how many microseconds.
  bool can_winograd(const Conv2dRequest& request) const;
  double winograd_cost(const Conv2dRequest& request) const;
  /// Tiles of 2x2 outputs that are worked on at once; 0 where there is no room.
  Size winograd_columns(const Conv2dRequest& request) const;
  /// False, with nothing done, where its scratch finds no room.
  bool conv_winograd(std::string_view op, const Conv2dRequest& request);
  void conv_product(const Conv2dRequest& request, const ConvProduct& product);
  void conv_meetings(std::string_view op, const ConvSums& sums);
  /// Of sums that the output has.
  void conv_addend(const Conv2dRequest& request);
  /// A tensor as [outer, length, inner], reduced along length.
  struct Extents {
    Size outer, length, inner;
  };
  void reduce(std::string_view name, ReduceOp op, const BufferRange& input, DType input_dtype,
              const BufferRange& output, DType output_dtype, const Extents& extents);
  void softmax_rows(const SoftmaxRequest& request, const RowPlan& plan);
  /// An axis in front of others, a work-item each.
  void softmax_short(const SoftmaxRequest& request);
  void norm(std::string_view op, const NormRequest& request, bool centred);
  /// Rows whose pieces are workgroups of their own; false where their scratch finds no room.
  bool softmax_pieces(const SoftmaxRequest& request, const PiecePlan& plan);
  bool norm_pieces(std::string_view op, const NormRequest& request, bool centred,
                   const PiecePlan& plan);

  /// What the device lacks to compute in a dtype; empty where it lacks nothing.
  std::string_view lacking_feature(DType dtype) const;
  /// Throws Unsupported where the device does not compute in a dtype of the program.
  void require_dtypes(std::string_view op, const ProgramData& program,
                      const std::vector<bool>& needed) const;
  /// Where bindings of programs start.
  std::uint64_t place_alignment() const;
  /// Where bindings of an operand may start; what it lies behind that is the key's.
  static OperandPlace add_place(PlanKey& key, const MapRequest::Operand& operand, std::size_t item,
                                std::uint64_t alignment) {
    const std::uint64_t start = static_cast<std::uint64_t>(operand.offset) * item;
    const std::uint64_t behind = start & (alignment - 1);
    key.add(behind);
    return {&buffer_of(operand.allocation), start - behind};
  }
  /// The same of all operands of programs.
  template <class DTypeOf>
  std::span<const OperandPlace> add_places(PlanKey& key, std::span<OperandPlace> room,
                                           const std::vector<MapRequest::Operand>& operands,
                                           const DTypeOf& dtype_of) const {
    const std::uint64_t alignment = place_alignment();
    for (std::size_t o = 0; o < operands.size(); ++o) {
      room[o] = add_place(key, operands[o], size_of(dtype_of(o)), alignment);
    }
    const std::span<const OperandPlace> places = room.first(operands.size());
    key.add(places);
    return places;
  }
  /// Part of map's walk, in as many launches as bindings and counts of 32 bits ask for.
  void map_piece(const MapRequest& request, const MapPiece& piece);
  void launch_piece(const MapRequest& request, const MapPiece& piece, const MapPlaces& places);
  /// A map of more operands than a kernel binds: its inputs side by side in scratch, some of its
  /// outputs at a time.
  void map_packed(const MapRequest& request, const std::vector<bool>& used);

  /// As many parts as a kernel takes, from `at` on in each row of the output.
  void launch_parts(const ConcatRequest& request, std::span<const ConcatPart> parts, Size at);
  /// Some groups of map_many in one launch.
  void launch_groups(const MapManyRequest& request, const GroupLaunch& launch);

  /// Part of a reduction or scan, in as many launches as bindings and counts of 32 bits ask for.
  void fold_region(const FoldRequest& request, const FoldRegion& region);
  void reduce_region(const FoldRequest& request, const std::vector<FoldRegion>& parts,
                     bool may_widen = true);
  void scan_region(const FoldRequest& request, const FoldRegion& region);
  void launch_fold(const FoldRequest& request, const FoldRegion& region, const FoldStep& step);
  /// Copies between buffers: by a kernel what is little, and what may be read and written as vec4,
  /// which GPUs do faster than they copy.
  void copy_between(DeviceBuffer& to, std::uint64_t dst_offset, DeviceBuffer& from,
                    std::uint64_t src_offset, std::uint64_t bytes);
  /// How many bytes it copied, in vec4.
  std::uint64_t copy_fours(DeviceBuffer& to, DeviceBuffer& from, std::uint64_t bytes,
                           std::uint64_t dst_offset, std::uint64_t src_offset);
  /// Whether parameters are too many for a launch: they are in a buffer then, the last binding.
  bool binds_params(std::string_view call, std::span<const std::uint32_t> params,
                    std::vector<Binding>& bindings, AllocationRef& held);

  /// Rows whose workgroups walk them once for each program, or none where they are too few or long.
  bool launch_rows(const RowsRequest& request);

  void sort_part(const SortRequest& request, Size first, Size rows);
  /// Rows of words: in workgroup memory, by the digits of their keys, or what is selected of them.
  void sort_rows(const SortRows& rows);
  void sort_in_groups(const SortRows& rows);
  void sort_by_digits(const SortRows& rows);
  void select_rows(const SortRows& rows);
  /// For each row of counts, how many come before each of them.
  void sum_counts(std::string_view op, const AllocationRef& counts, const AllocationRef& before,
                  Size rows, Size length);

  /// Part of a move, in as many launches as bindings, counts of 32 bits and ranks ask for.
  void move_region(const MoveRequest& request);
  /// Of some rows of the table; what lies in others stays.
  void gather_window(const GatherRequest& request, Size first, Size rows);
  /// What the indices of a move reach through, and how much of it one binding holds at a time.
  struct StepWindows {
    Size steps, each, apart;
    bool are_several() const { return each < steps; }
  };
  StepWindows step_windows(const MoveRequest& request) const;
  /// With one index array, which has steps that are right where `has_steps`.
  void launch_move(const MoveRequest& request, bool has_steps);
  /// The steps of all index arrays together, as the one of the request given back.
  MoveRequest with_steps(const MoveRequest& request);
  /// The places that a mask chooses, of some axes.
  void launch_places(const MaskRequest& request, const Binding& output, bool wide);

  /// Throws Unsupported for more workgroups than a dimension of a grid has.
  void check_groups(std::string_view op, Size groups) const;
  /// Throws Unsupported where the device does not compute with the numbers of the matrices.
  void require_factors(std::string_view op, const Matrices& matrices) const;
  /// Solves for a block of rows of X by the lower triangle of as many rows of A, or of its
  /// conjugate; without `a` it is a part of x.
  void solve_block(const BoundMatrices* a, const MatrixPart& of_a, const BoundMatrices& x,
                   const MatrixPart& of_x, Size size, Size columns, bool unit, bool conjugate,
                   const Matrices& matrices);
  /// C -= A B of parts of matrices; without `a` all lie in x. With `lower` above C's diagonal
  /// nothing is written.
  void update_matrices(const BoundMatrices* a, const MatrixPart& of_a, const BoundMatrices& x,
                       const MatrixPart& of_b, const MatrixPart& of_c, Size rows, Size columns,
                       Size depth, bool lower, Conjugates conjugates, const Matrices& matrices);

  /// Throws KernelError where the code does not compile, on a device kept for trying.
  void try_kernel(const KernelDescription& kernel);

  OpenDevice open_;
  std::shared_ptr<Recorder> recorder_;
  std::optional<RecordableDevice> device_;
  std::shared_ptr<BufferPool> memory_;
  std::optional<KernelLibrary> kernels_;
  std::optional<ProgramLibrary> programs_;
  std::uint32_t elementwise_group_ = 0;  // work-items in a workgroup of unary, binary and cast
  std::shared_ptr<Choices> choices_;
  std::optional<Plans> plans_;
  std::optional<Faults> faults_;
  std::mutex trial_mutex_;
  std::shared_ptr<Device> trial_device_;  // opened by the first kernel of a user's own
};

}  // namespace tilewright::gpu
