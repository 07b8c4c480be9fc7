#include "core/ops/recurrent.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

// Small layers are walked by one launch, in which workgroups keep the weights. Of others each step
// is a launch, or two where a product follows from another one; all of them together are the plan.
namespace tilewright::gpu {

namespace {

constexpr std::string_view op = "recurrent";
/// What the walking kernel's work-items and their registers hold.
constexpr Size most_gates_held = 256, most_units_held = 64, most_units_of_doubles = 32;
/// Software devices end loops after 65,535 turns.
constexpr Size longest_walk = 1 << 14;
/// Work-items that share rows of weights: as many as make enough workgroups.
constexpr Size least_lanes = 32, most_lanes = 128;

constexpr Size ceiling(Size x, Size y) { return (x + y - 1) / y; }

enum Flags : std::uint32_t {
  reverse = 1,
  has_lengths = 2,
  has_biases = 4,
  is_relu = 8,
  clips = 16,
  has_hidden = 32,
  has_cell = 64,
  wants_hidden = 128,
  wants_cell = 256,
  is_projected = 512,
  has_peepholes = 1024,
};

enum class Kind : std::uint8_t { rnn, lstm, gru, reset_first, reset_second, project };
constexpr std::array<std::string_view, 6> kind_names{"rnn",         "lstm",         "gru",
                                                     "reset_first", "reset_second", "project"};

Kind kind_of(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::lstm:
      return Kind::lstm;
    case RecurrentCell::gru:
      return Kind::gru;
    case RecurrentCell::gru_reset_before:
      return Kind::reset_first;
    default:
      return Kind::rnn;
  }
}

std::uint32_t type_number(DType dtype) { return dtype == DType::float64 ? 2 : half_bit(dtype); }

}  // namespace

struct GpuBackend::RecurrentLaunch {
  RecurrentLaunch(GpuBackend& backend, const RecurrentRequest& request)
      : be(backend),
        r(request),
        sum(r.dtype == DType::float64 ? DType::float64 : DType::float32),
        weights(be.bind(op, r.weights, r.weights.bytes)) {
    if (r.reverse) flags |= reverse;
    if (r.lengths) flags |= has_lengths;
    if (r.bias) flags |= has_biases;
    if (r.peepholes) flags |= has_peepholes;
    if (r.cell == RecurrentCell::rnn_relu) flags |= is_relu;
    if (std::isfinite(r.clip)) flags |= clips;
  }

  /// Of an operand that need not be there: what a kernel is told not to look at is anything.
  Binding bound(const BufferRange& range) const {
    return range ? be.bind(op, range, range.bytes) : weights;
  }
  AllocationRef scratch(Size elements) const {
    return be.memory_->scratch(op, bytes_of(elements, sum));
  }
  void set_type(TemplateVariables& v) const {
    v["GROUP"] = std::int64_t{group_size};
    v["T"] = r.dtype == DType::float64 ? std::string("f64") : type_name(r.dtype);
  }
  float clip() const { return (flags & clips) != 0 ? r.clip : 0; }

  void run();

 private:
  struct Places {
    std::uint32_t start, batch, step;
    explicit Places(const HeadRows& rows)
        : start(u32(rows.start)), batch(u32(rows.batch)), step(u32(rows.head)) {}
  };
  /// A step's product.
  struct Product {
    Kind kind;
    Binding weights;
    AllocationRef source, behind;
    Size units, k, first_gate;
  };

  bool takes_walk() const;
  void begin();
  void end(const AllocationRef& hidden);
  void walk();
  void step(const Product& product, Size t);
  void single();
  void launch(Kind kind, bool is_single, Size units, Size k, Size first_gate, Size t,
              std::uint32_t all_flags, const std::array<Binding, 8>& bindings);

  GpuBackend& be;
  const RecurrentRequest& r;
  const DType sum;
  const Binding weights;
  std::uint32_t flags = 0;
  Binding inputs{}, outputs{}, lengths{}, extra{};
  AllocationRef states[2], cells, middle;
};

bool GpuBackend::RecurrentLaunch::takes_walk() const {
  return !r.projection && r.gates * r.hidden <= most_gates_held &&
         r.hidden <= (r.dtype == DType::float64 ? most_units_of_doubles : most_units_held);
}

void GpuBackend::RecurrentLaunch::run() {
  const bool is_lstm = r.cell == RecurrentCell::lstm;
  const bool two_products = r.projection || r.cell == RecurrentCell::gru_reset_before;
  if (r.steps > 0) {
    inputs =
        be.bind(op, r.inputs,
                bytes_of(extent(r.input_rows, r.batch, r.steps, 1, r.gates * r.hidden), r.dtype));
    outputs = be.bind(op, r.outputs,
                      bytes_of(extent(r.output_rows, r.batch, r.steps, 1, r.out), r.dtype));
    lengths = bound(r.lengths);
    extra = bound(r.peepholes ? r.peepholes : r.bias);
  }
  const bool in_place = (r.final_hidden && r.final_hidden == r.initial_hidden) ||
                        (r.final_cell && r.final_cell == r.initial_cell);
  const bool is_double = r.dtype == DType::float64;
  if (r.steps == 1 && !two_products && !r.lengths && !in_place && !is_double) return single();
  const Size hidden = r.batch * r.out;
  states[0] = scratch(hidden);
  states[1] = scratch(two_products ? 1 : hidden);
  const bool has_cells = is_lstm || r.cell == RecurrentCell::gru_reset_before;
  cells = scratch(has_cells ? r.batch * r.hidden : 1);
  begin();
  if (r.steps == 0) return end(states[0]);
  if (takes_walk()) {
    walk();
    return end(states[0]);
  }
  if (two_products) middle = scratch(r.batch * r.hidden);
  const Kind kind = kind_of(r.cell);
  if (!two_products) {
    for (Size t = 0; t < r.steps; ++t) {
      step({kind, weights, states[t % 2], states[(t + 1) % 2], r.hidden, r.out, 0}, t);
    }
    return end(states[r.steps % 2]);
  }
  // The first product has read all states by the time that the second one writes them.
  const AllocationRef& state = states[0];
  const Product second =
      r.projection ? Product{Kind::project, bound(r.projection), middle, state, r.out, r.hidden, 0}
                   : Product{Kind::reset_second, weights, middle, state, r.hidden, r.out, 2};
  for (Size t = 0; t < r.steps; ++t) {
    step({kind, weights, state, middle, r.hidden, r.out, 0}, t);
    step(second, t);
  }
  end(state);
}

void GpuBackend::RecurrentLaunch::begin() {
  const bool is_lstm = r.cell == RecurrentCell::lstm;
  const Size hidden = r.batch * r.out, cell = is_lstm ? r.batch * r.hidden : 0;
  const struct {
    std::uint32_t hidden, cell, has_hidden, has_cell;
  } params{u32(hidden), u32(cell), r.initial_hidden ? 1u : 0u, r.initial_cell ? 1u : 0u};
  const std::array<Binding, 4> bindings{bound(r.initial_hidden), bound(r.initial_cell),
                                        be.window(states[0], 0), be.window(cells, 0)};
  be.run(KernelId::recurrent_begin, type_number(r.dtype), params, bindings,
         be.cover(static_cast<std::uint64_t>(std::max(hidden, cell)), group_size),
         [&](TemplateVariables& v) { set_type(v); });
}

void GpuBackend::RecurrentLaunch::end(const AllocationRef& hidden) {
  if (!r.final_hidden && !r.final_cell) return;
  const Size of_hidden = r.final_hidden ? r.batch * r.out : 0;
  const Size of_cell = r.final_cell ? r.batch * r.hidden : 0;
  const struct {
    std::uint32_t hidden, cell;
  } params{u32(of_hidden), u32(of_cell)};
  // In the place of one that is not wanted stands a state that is not needed any more.
  const Binding other = be.window(hidden == states[0] ? states[1] : states[0], 0);
  const std::array<Binding, 4> bindings{be.window(hidden, 0), be.window(cells, 0),
                                        r.final_hidden ? bound(r.final_hidden) : other,
                                        r.final_cell ? bound(r.final_cell) : other};
  be.run(KernelId::recurrent_end, type_number(r.dtype), params, bindings,
         be.cover(static_cast<std::uint64_t>(std::max(of_hidden, of_cell)), group_size),
         [&](TemplateVariables& v) { set_type(v); });
}

void GpuBackend::RecurrentLaunch::walk() {
  constexpr Size several = 4;
  const bool is_compiled = !be.device_->limits().compiles_templates;
  // Several sequences where that leaves a workgroup for each processor.
  const bool few = r.batch < several * be.device_->limits().planned_units ||
                   several * r.hidden > most_gates_held;
  const Size rows = few ? 1 : several;
  const Size kept = r.hidden <= 32 ? 32 : 64;
  const Size items = std::max(r.gates, rows) * r.hidden;
  const Size group = is_compiled ? Size{group_size} : ceiling(items, 64) * 64;
  const Kind kind = kind_of(r.cell);
  const std::array<Binding, 7> bindings{
      inputs, weights, extra, lengths, be.window(states[0], 0), be.window(cells, 0), outputs};
  for (Size first = 0; first < r.steps; first += longest_walk) {
    const struct {
      std::uint32_t units, rows, first, end, steps;
      Places input, output;
      std::uint32_t flags;
      float clip;
      std::uint32_t zero;
    } params{u32(r.hidden),
             u32(r.batch),
             u32(first),
             u32(std::min(r.steps, first + longest_walk)),
             u32(r.steps),
             Places(r.input_rows),
             Places(r.output_rows),
             flags,
             clip(),
             0};
    const auto variant = static_cast<std::uint32_t>(
        ((static_cast<Size>(kind) * 3 + type_number(r.dtype)) * 2 + (few ? 0 : 1)) * 2 +
        (kept == 32 ? 0 : 1));
    be.run(KernelId::recurrent_walk, variant * 8 + u32(group / 64), params, bindings,
           be.cover(static_cast<std::uint64_t>(ceiling(r.batch, rows)), 1),
           [&](TemplateVariables& v) {
             set_type(v);
             v["GROUP"] = std::int64_t{group};
             v["ROWS"] = std::int64_t{rows};
             v["KEPT"] = std::int64_t{kept};
             v["KIND"] = std::string(
                 kind == Kind::reset_first ? "reset" : kind_names[static_cast<std::size_t>(kind)]);
           });
  }
}

void GpuBackend::RecurrentLaunch::step(const Product& product, Size t) {
  const bool is_projected = product.kind == Kind::lstm && r.projection;
  launch(product.kind, false, product.units, product.k, product.first_gate, t,
         flags | (is_projected ? Flags::is_projected : 0u),
         {inputs, product.weights, extra, lengths, be.window(product.source, 0),
          be.window(product.behind, 0), be.window(cells, 0), outputs});
}

void GpuBackend::RecurrentLaunch::single() {
  std::uint32_t all = flags;
  if (r.initial_hidden) all |= has_hidden;
  if (r.initial_cell) all |= has_cell;
  if (r.final_hidden) all |= wants_hidden;
  if (r.final_cell) all |= wants_cell;
  // What is not wanted is not written, but has a place of its own.
  AllocationRef unwanted[2];
  const auto written = [&](const BufferRange& range, AllocationRef& room) {
    if (range) return bound(range);
    room = scratch(1);
    return be.window(room, 0);
  };
  launch(kind_of(r.cell), true, r.hidden, r.out, 0, 0, all,
         {inputs, weights, extra, bound(r.initial_cell), bound(r.initial_hidden),
          written(r.final_hidden, unwanted[0]), written(r.final_cell, unwanted[1]), outputs});
}

void GpuBackend::RecurrentLaunch::launch(Kind kind, bool is_single, Size units, Size k,
                                         Size first_gate, Size t, std::uint32_t all_flags,
                                         const std::array<Binding, 8>& bindings) {
  const DeviceLimits& limits = be.device_->limits();
  // What is compiled for Intel's GPUs takes fewer, for their registers.
  const Size several = limits.compiles_templates ? 8 : 2;
  const Size rows = r.batch <= 2 ? 1 : several;
  const Size row_blocks = ceiling(r.batch, rows);
  const bool vector = k % 4 == 0 && r.dtype != DType::float64;
  const Size width = vector ? 4 : 1;
  constexpr std::array<Size, 6> units_of_kind{4, 1, 1, 2, 4, 4};
  const Size each = units_of_kind[static_cast<std::size_t>(kind)];
  const auto blocks_by = [&](Size lanes) { return ceiling(units, group_size / lanes * each); };
  Size lanes = least_lanes;
  while (lanes < most_lanes && k / width > lanes &&
         blocks_by(lanes) * row_blocks < limits.planned_units) {
    lanes *= 2;
  }
  const Size blocks = blocks_by(lanes);
  const struct {
    std::uint32_t units, rows, blocks, k, t, steps, gate_stride, first_gate, all_gates;
    Places input, output;
    std::uint32_t flags;
    float clip;
    std::uint32_t zero;
  } params{u32(units),
           u32(r.batch),
           u32(blocks),
           u32(k / width),
           u32(t),
           u32(r.steps),
           u32(r.hidden),
           u32(first_gate),
           u32(r.gates),
           Places(r.input_rows),
           Places(r.output_rows),
           all_flags,
           clip(),
           0};
  const auto variant = static_cast<std::uint32_t>(
      (((static_cast<Size>(kind) * 3 + type_number(r.dtype)) * 2 + (vector ? 1 : 0)) * 2 +
       (rows == 1 ? 0 : 1)) *
          2 +
      (is_single ? 1 : 0));
  be.run(KernelId::recurrent_step, variant * 256 + u32(lanes), params, bindings,
         be.cover(static_cast<std::uint64_t>(blocks * row_blocks), 1), [&](TemplateVariables& v) {
           set_type(v);
           v["LANES"] = std::int64_t{lanes};
           v["ROWS"] = std::int64_t{rows};
           v["VECTOR"] = std::int64_t{vector};
           v["SINGLE"] = std::int64_t{is_single};
           v["KIND"] = std::string(kind_names[static_cast<std::size_t>(kind)]);
         });
}

void GpuBackend::launch_recurrent(const RecurrentRequest& r) {
  require(op, r.dtype);
  if (!lacking_feature(r.dtype).empty()) {
    throw Unsupported(text(op, ": ", device_->info().name,
                           " has no float64 in kernels; cast to float32, or compute it on the cpu "
                           "backend"));
  }
  RecurrentLaunch(*this, r).run();
}

}  // namespace tilewright::gpu
