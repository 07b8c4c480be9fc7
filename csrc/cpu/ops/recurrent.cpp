#include "core/ops/recurrent.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/recurrent_table.hpp"
#include "cpu/lapack.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

// A step is a product of the states by the weights, of some units with all their gates at a time,
// and what the gates make of it while it is in the nearest cache. For many steps the weights are
// packed once, so that a vector of units lies side by side for each gate. Few steps read them as
// they are.
namespace tilewright::cpu {

namespace {

/// Up to so many steps weights are not packed.
constexpr std::size_t few_steps = 3;
/// Of states that are multiplied at a time.
constexpr std::size_t row_block = 32;
/// Multiply-adds of a step from which threads share it, and of a layer from which they share its
/// sequences.
constexpr std::size_t shared_step = 1 << 17, shared_layer = 1 << 18;
/// Bytes of weights that stay in a processor's own cache, so that each takes whole sequences.
constexpr std::size_t own_cache = 1 << 20;
constexpr std::size_t most_vectors = 4, most_width = 16, most_gates = 4;
constexpr std::size_t blas_most = std::numeric_limits<int>::max();

constexpr std::size_t ceil_div(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

/// Memory of an op, by elements of any type.
class Room {
 public:
  template <class T>
  void add(std::size_t elements) {
    floats_ += floats_of<T>(elements);
  }
  std::size_t floats() const { return floats_; }

  template <class T>
  static T* take(Scratch& scratch, std::size_t elements) {
    return reinterpret_cast<T*>(scratch.take(floats_of<T>(elements)));
  }

 private:
  template <class T>
  static std::size_t floats_of(std::size_t elements) {
    return Scratch::rounded(elements * (sizeof(T) / sizeof(float)));
  }
  std::size_t floats_ = 0;
};

/// A layer whose arrays are stored as T.
template <class T>
class Layer {
 public:
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  static constexpr bool is_half = std::is_same_v<T, Half>;

  Layer(const RecurrentRequest& r, MemoryPool& memory)
      : r_(r),
        kernels_(kernels_of()),
        steps_(static_cast<std::size_t>(r.steps)),
        batch_(static_cast<std::size_t>(r.batch)),
        hidden_(static_cast<std::size_t>(r.hidden)),
        gates_(static_cast<std::size_t>(r.gates)),
        out_(static_cast<std::size_t>(r.out)),
        packed_(is_half || steps_ > few_steps ||
                std::max({batch_, hidden_ * gates_, out_}) > blas_most),
        memory_(memory) {}

  void run() {
    Room room;
    plan(room);
    OpScratch all(memory_, "recurrent", room.floats());
    Scratch scratch(all);
    take(scratch);
    order();
    start();
    walk();
    finish();
  }

 private:
  /// A product of a step, with what is made of it.
  struct Stage {
    const T* weights;
    std::size_t gates, units, k;
    std::size_t first_gate;  ///< whose inputs and biases are the first here
    bool is_projection, second;
    const Sum* source[2];  ///< states that are multiplied, before odd and even steps
    std::size_t unit_vectors = 0, tiles = 0;
    Sum* panels = nullptr;

    std::size_t tile_units(std::size_t width) const { return unit_vectors * width; }
    std::size_t panel(std::size_t width) const { return k * gates * tile_units(width); }
  };
  /// Sequences that are walked together, the longest first: of order_, from `first` on each
  /// `stride`-th.
  struct Group {
    std::size_t first, stride, count;
  };

  static const RecurrentKernels<Sum>& kernels_of() {
    if constexpr (std::is_same_v<Sum, double>) {
      return recurrent_table().float64;
    } else {
      return recurrent_table().float32;
    }
  }

  bool is_lstm() const { return r_.cell == RecurrentCell::lstm; }
  bool resets_before() const { return r_.cell == RecurrentCell::gru_reset_before; }

  // Memory --------------------------------------------------------------------------------------

  void plan(Room& room) {
    const auto add = [&](const BufferRange& weights, std::size_t first, std::size_t gates,
                         std::size_t units, std::size_t k) -> Stage& {
      Stage stage{};
      stage.weights = data<T>(weights) + first * hidden_ * k;
      stage.first_gate = first;
      stage.gates = gates;
      stage.units = units;
      stage.k = k;
      stage.unit_vectors = std::max<std::size_t>(1, most_vectors / gates);
      stage.tiles = ceil_div(units, stage.tile_units(kernels_.width));
      stages_[stage_count_] = stage;
      return stages_[stage_count_++];
    };
    if (resets_before()) {
      add(r_.weights, 0, 2, hidden_, out_);
      add(r_.weights, 2, 1, hidden_, out_).second = true;
    } else {
      add(r_.weights, 0, gates_, hidden_, out_);
    }
    if (r_.projection) add(r_.projection, 0, 1, out_, hidden_).is_projection = true;
    for (int i = 0; i < 2; ++i) room.add<Sum>(batch_ * out_);
    room.add<Sum>(has_cells() ? batch_ * hidden_ : 0);
    room.add<Sum>(has_middle() ? batch_ * hidden_ : 0);
    if (is_half) {
      room.add<Sum>(r_.bias ? 2 * gates_ * hidden_ : 0);
      room.add<Sum>(r_.peepholes ? 3 * hidden_ : 0);
    }
    if (packed_) {
      for (const Stage& stage : stages()) {
        room.add<Sum>(stage.tiles * stage.panel(kernels_.width));
      }
    } else {
      room.add<Sum>(sums_size());
    }
  }
  /// lstm's cells, or z between two products of gru_reset_before.
  bool has_cells() const { return is_lstm() || resets_before(); }
  /// A state that is multiplied within a step.
  bool has_middle() const { return r_.projection || resets_before(); }
  std::size_t sums_size() const {
    std::size_t most = 0;
    for (const Stage& stage : stages()) most = std::max(most, stage.gates * stage.units);
    return batch_ * most;
  }
  std::span<Stage> stages() { return std::span(stages_).first(stage_count_); }
  std::span<const Stage> stages() const { return std::span(stages_).first(stage_count_); }

  void take(Scratch& scratch) {
    for (Sum*& state : states_) state = Room::take<Sum>(scratch, batch_ * out_);
    cells_ = Room::take<Sum>(scratch, has_cells() ? batch_ * hidden_ : 0);
    middle_ = Room::take<Sum>(scratch, has_middle() ? batch_ * hidden_ : 0);
    const auto numbers = [&](const BufferRange& range, std::size_t count) -> const Sum* {
      if (!range) return nullptr;
      if constexpr (is_half) {
        Sum* const wide = Room::take<Sum>(scratch, count);
        to_float32(data<T>(range), wide, count);
        return wide;
      } else {
        return data<T>(range);
      }
    };
    bias_ = numbers(r_.bias, 2 * gates_ * hidden_);
    peepholes_ = numbers(r_.peepholes, 3 * hidden_);
    for (Stage& stage : stages()) {
      const bool within = stage.is_projection || stage.second;
      for (int i = 0; i < 2; ++i) stage.source[i] = within ? middle_ : states_[i];
      if (packed_) {
        stage.panels = Room::take<Sum>(scratch, stage.tiles * stage.panel(kernels_.width));
      }
    }
    if (!packed_) sums_ = Room::take<Sum>(scratch, sums_size());
  }

  // Before the steps and behind them ------------------------------------------------------------

  void order() {
    lengths_.resize(batch_);
    order_.resize(batch_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t b = 0; b < batch_; ++b) {
      lengths_[b] = r_.lengths ? static_cast<std::size_t>(std::clamp<Size>(
                                     data<std::int32_t>(r_.lengths)[b], 0, r_.steps))
                               : steps_;
    }
    if (r_.lengths) {
      std::stable_sort(order_.begin(), order_.end(),
                       [&](std::size_t a, std::size_t b) { return lengths_[a] > lengths_[b]; });
    }
  }

  template <class From, class To>
  static void copy(const From* from, To* to, std::size_t count) {
    if constexpr (std::is_same_v<From, To>) {
      std::copy_n(from, count, to);
    } else if constexpr (std::is_same_v<From, Half>) {
      to_float32(from, to, count);
    } else {
      from_float32(from, to, count);
    }
  }

  void start() {
    const auto load = [](const BufferRange& from, Sum* to, std::size_t count) {
      if (from) {
        copy(data<T>(from), to, count);
      } else {
        std::fill_n(to, count, Sum{0});
      }
    };
    load(r_.initial_hidden, states_[0], batch_ * out_);
    if (is_lstm()) load(r_.initial_cell, cells_, batch_ * hidden_);
    for (std::size_t b = 0; b < batch_; ++b) {
      for (std::size_t t = lengths_[b]; t < steps_; ++t) std::fill_n(output(t, b), out_, T{0});
    }
    if (!packed_) return;
    for (const Stage& stage : stages()) {
      const std::size_t grain = ceil_div(shared_step, stage.panel(kernels_.width));
      parallel_for_each(stage.tiles, grain, [&](std::size_t tile) { pack(stage, tile); });
    }
  }

  template <class Body>
  static void parallel_for_each(std::size_t n, std::size_t grain, const Body& body) {
    const std::size_t tasks = std::min(n, piece_count(n, grain));
    parallel_tasks(tasks, [&](std::size_t task) {
      for (std::size_t i = n * task / tasks; i < n * (task + 1) / tasks; ++i) body(i);
    });
  }

  /// A tile's weights: for each of k its units, gate by gate.
  void pack(const Stage& stage, std::size_t tile) const {
    const std::size_t width = kernels_.width, units = stage.tile_units(width);
    const std::size_t vectors = stage.gates * stage.unit_vectors, stride = vectors * width;
    const std::size_t k = stage.k;
    Sum* const panel = stage.panels + tile * stage.panel(width);
    for (std::size_t v = 0; v < vectors; ++v) {
      const std::size_t unit = tile * units + v % stage.unit_vectors * width;
      const std::size_t count = unit < stage.units ? std::min(width, stage.units - unit) : 0;
      const T* const from = stage.weights + (v / stage.unit_vectors * stage.units + unit) * k;
      Sum* const to = panel + v * width;
      if (count < width) {
        for (std::size_t i = 0; i < k; ++i) std::fill_n(to + i * stride, width, Sum{0});
      }
      if (count == 0) continue;
      if constexpr (std::is_same_v<T, double>) {
        constexpr std::size_t block = 8;
        for (std::size_t first = 0; first < k; first += block) {
          for (std::size_t u = 0; u < count; ++u) {
            for (std::size_t i = first; i < std::min(k, first + block); ++i) {
              to[i * stride + u] = from[u * k + i];
            }
          }
        }
      } else {
        row_kernels<T>().transpose(from, count, k, k, 1, to, stride);
      }
    }
  }

  void finish() {
    if (r_.final_hidden) {
      T* const to = data<T>(r_.final_hidden);
      for (std::size_t b = 0; b < batch_; ++b) {
        copy(states_[lengths_[b] % 2] + b * out_, to + b * out_, out_);
      }
    }
    if (r_.final_cell) copy(cells_, data<T>(r_.final_cell), batch_ * hidden_);
  }

  // Steps ---------------------------------------------------------------------------------------

  void walk() {
    std::size_t work = 0;
    for (const Stage& stage : stages()) work += stage.gates * stage.units * stage.k;
    const std::size_t bytes = work * sizeof(Sum), threads = thread_count();
    const bool by_sequences = packed_ && threads > 1 && bytes <= own_cache &&
                              batch_ >= 4 * threads && work * batch_ * steps_ >= shared_layer;
    if (by_sequences) {
      parallel_tasks(threads, [&](std::size_t i) {
        run_group({i, threads, (batch_ - i + threads - 1) / threads}, false);
      });
    } else {
      run_group({0, 1, batch_}, threads > 1 && work * batch_ >= shared_step);
    }
  }

  void run_group(const Group& group, bool shared) {
    std::size_t active = group.count;
    for (std::size_t t = 0; t < steps_; ++t) {
      while (active > 0 && lengths_[sequence(group, active - 1)] <= t) --active;
      if (active == 0) return;
      for (const Stage& stage : stages()) {
        packed_ ? run_packed(stage, {group.first, group.stride, active}, t, shared)
                : run_plain(stage, {group.first, group.stride, active}, t, shared);
      }
    }
  }
  std::size_t sequence(const Group& group, std::size_t i) const {
    return order_[group.first + i * group.stride];
  }

  void run_packed(const Stage& stage, const Group& group, std::size_t t, bool shared) {
    const auto tile = [&](std::size_t i) { run_tile(stage, group, t, i); };
    if (!shared) {
      for (std::size_t i = 0; i < stage.tiles; ++i) tile(i);
      return;
    }
    // The same tiles go to the same threads in each step, whose caches then hold their weights.
    parallel_for_each(stage.tiles, ceil_div(stage.tiles, 4 * thread_count()), tile);
  }

  void run_tile(const Stage& stage, const Group& group, std::size_t t, std::size_t tile) {
    const std::size_t width = kernels_.width, units = stage.tile_units(width);
    const std::size_t vectors = stage.gates * stage.unit_vectors;
    alignas(64) std::array<Sum, row_block * most_vectors * most_width> sums;
    std::array<const Sum*, row_block> sources;
    const std::size_t first_unit = tile * units, count = std::min(units, stage.units - first_unit);
    for (std::size_t first = 0; first < group.count; first += row_block) {
      const std::size_t rows = std::min(row_block, group.count - first);
      for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t b = sequence(group, first + i);
        sources[i] = stage.source[t % 2] + b * stage.k;
        // On their way while sums are made.
        for (std::size_t gate = 0; !stage.is_projection && gate < stage.gates; ++gate) {
          __builtin_prefetch(input(place(t, b), b) + (stage.first_gate + gate) * hidden_ +
                             first_unit);
        }
      }
      kernels_.product(stage.panels + tile * stage.panel(width), vectors, stage.k, sources.data(),
                       rows, sums.data());
      use(stage, group, t, first, rows, first_unit, count, {sums.data(), vectors * width, units});
    }
  }

  void run_plain(const Stage& stage, const Group& group, std::size_t t, bool shared) {
    constexpr std::size_t granule = 16;
    const std::size_t parts =
        shared ? std::min(thread_count(), ceil_div(stage.units, granule)) : std::size_t{1};
    const std::size_t each = ceil_div(ceil_div(stage.units, parts), granule) * granule;
    const std::size_t row = stage.gates * stage.units;
    parallel_tasks(ceil_div(stage.units, each), [&](std::size_t part) {
      const std::size_t first = part * each, count = std::min(each, stage.units - first);
      multiply(stage, t, first, count, row);
      for (std::size_t i = 0; i < group.count; i += row_block) {
        const std::size_t rows = std::min(row_block, group.count - i);
        // Sums are by sequences here, not by their order.
        use(stage, group, t, i, rows, first, count, {sums_ + first, row, stage.units, true});
      }
    });
  }

  /// Sums of all sequences, of some units, with the weights as they are.
  void multiply(const Stage& stage, std::size_t t, std::size_t first, std::size_t count,
                std::size_t row) {
    const Sum* const source = stage.source[t % 2];
    const bool all = count == stage.units;
    for (std::size_t gate = 0; gate < (all ? 1 : stage.gates); ++gate) {
      const std::size_t at = gate * stage.units + first, n = all ? row : count;
      if constexpr (!is_half) {
        const T* const weights = stage.weights + at * stage.k;
        if constexpr (std::is_same_v<T, float>) {
          constexpr std::size_t few_rows = 2;
          if (batch_ <= few_rows) {
            for (std::size_t b = 0; b < batch_; ++b) {
              row_kernels<float>().dot_rows(weights, n, stage.k, source + b * stage.k, stage.k, 1,
                                            sums_ + b * row + at);
            }
            continue;
          }
        }
        const auto k = static_cast<int>(stage.k);
        blas_gemm<Sum>(as_it_is, transposed, static_cast<int>(batch_), static_cast<int>(n), k, 1,
                       source, k, weights, k, 0, sums_ + at, static_cast<int>(row));
      }
    }
  }

  struct Sums {
    const Sum* data;
    std::size_t row, gate;
    bool by_sequence = false;
  };

  /// What is made of the sums of some rows and units.
  void use(const Stage& stage, const Group& group, std::size_t t, std::size_t first_row,
           std::size_t rows, std::size_t first, std::size_t count, const Sums& sums) {
    Sum* const next = states_[(t + 1) % 2];
    const bool goes_on = stage_count_ > 1 && &stage == &stages_[0];
    std::array<RecurrentRow<Sum>, row_block> all;
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t b = sequence(group, first_row + i);
      RecurrentRow<Sum>& row = all[i];
      row.sums = sums.data + (sums.by_sequence ? b : i) * sums.row;
      row.before = states_[t % 2] + b * out_ + first;
      row.cell = cells_ == nullptr ? nullptr : cells_ + b * hidden_ + first;
      row.output = nullptr;
      if constexpr (!is_half) {
        if (!goes_on && !stage.is_projection) row.output = output(place(t, b), b) + first;
      }
      row.after = goes_on ? middle_ + b * hidden_ + first : next + b * out_ + first;
    }
    if (stage.is_projection) {
      for (std::size_t i = 0; i < rows; ++i) std::copy_n(all[i].sums, count, all[i].after);
    } else {
      run_gates(stage, group, t, first_row, rows, first, count, sums, all);
    }
    if (goes_on || all[0].output != nullptr) return;
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t b = sequence(group, first_row + i);
      copy(all[i].after, output(place(t, b), b) + first, count);
    }
  }

  void run_gates(const Stage& stage, const Group& group, std::size_t t, std::size_t first_row,
                 std::size_t rows, std::size_t first, std::size_t count, const Sums& sums,
                 std::array<RecurrentRow<Sum>, row_block>& all) {
    RecurrentUnits<Sum> units{};
    units.cell = r_.cell;
    units.second = stage.second;
    units.sum_stride = sums.gate;
    units.stride = hidden_;
    units.clip = static_cast<Sum>(r_.clip);
    const auto at = [&](std::size_t i) {
      const std::size_t b = sequence(group, first_row + i);
      return input(place(t, b), b) + stage.first_gate * hidden_ + first;
    };
    if (bias_ != nullptr) {
      units.input_bias = bias_ + stage.first_gate * hidden_ + first;
      units.hidden_bias = units.input_bias + gates_ * hidden_;
    }
    if (peepholes_ != nullptr) units.peepholes = peepholes_ + first;
    units.count = count;
    if constexpr (!is_half) {
      units.input_stride = hidden_;
      for (std::size_t i = 0; i < rows; ++i) all[i].inputs = at(i);
      kernels_.gates(units, all.data(), rows);
    } else {
      // Inputs as float32, of as many units as a tile has.
      constexpr std::size_t most = most_vectors * most_width;
      std::array<Sum, most_gates * most> wide;
      units.input_stride = count;
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t gate = 0; gate < stage.gates; ++gate) {
          to_float32(at(i) + gate * hidden_, wide.data() + gate * count, count);
        }
        all[i].inputs = wide.data();
        kernels_.gates(units, &all[i], 1);
      }
    }
  }

  /// Where a sequence is in a step.
  std::size_t place(std::size_t t, std::size_t b) const {
    return r_.reverse ? lengths_[b] - 1 - t : t;
  }
  const T* input(std::size_t step, std::size_t b) const {
    return data<T>(r_.inputs) + static_cast<Size>(step) * r_.input_rows.head +
           static_cast<Size>(b) * r_.input_rows.batch;
  }
  T* output(std::size_t step, std::size_t b) const {
    return data<T>(r_.outputs) + static_cast<Size>(step) * r_.output_rows.head +
           static_cast<Size>(b) * r_.output_rows.batch;
  }

  const RecurrentRequest& r_;
  const RecurrentKernels<Sum>& kernels_;
  const std::size_t steps_, batch_, hidden_, gates_, out_;
  const bool packed_;
  MemoryPool& memory_;
  std::array<Stage, 2> stages_{};
  std::size_t stage_count_ = 0;
  std::array<Sum*, 2> states_{};
  Sum* cells_ = nullptr;
  Sum* middle_ = nullptr;
  Sum* sums_ = nullptr;
  const Sum* bias_ = nullptr;
  const Sum* peepholes_ = nullptr;
  std::vector<std::size_t> lengths_, order_;
};

/// Without steps a state stays what it was.
void keep(const BufferRange& initial, const BufferRange& final) {
  if (!final || initial == final) return;
  std::byte* const to = data<std::byte>(final);
  if (initial) {
    std::copy_n(data<std::byte>(initial), final.bytes, to);
  } else {
    std::fill_n(to, final.bytes, std::byte{0});
  }
}

}  // namespace

void CpuBackend::do_recurrent(const RecurrentRequest& r) {
  if (r.steps == 0) {
    keep(r.initial_hidden, r.final_hidden);
    keep(r.initial_cell, r.final_cell);
  } else if (r.dtype == DType::float16) {
    Layer<Half>(r, *memory_).run();
  } else if (r.dtype == DType::float64) {
    Layer<double>(r, *memory_).run();
  } else {
    Layer<float>(r, *memory_).run();
  }
}

}  // namespace tilewright::cpu
