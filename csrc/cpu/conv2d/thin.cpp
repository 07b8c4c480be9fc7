#include "cpu/conv2d/thin.hpp"

#include <algorithm>
#include <vector>

#include "cpu/conv2d/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/conv_table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Rows of sums that are made before they are stored.
constexpr Size band_rows = 16;

/// The targets of a pair of phases.
struct Phase {
  Size row_offset, column_offset;
  PairedTaps taps;
};

/// Groups of few planes: a plane is laid out, and each filter's sums over it are made band by band.
template <class T>
class Thin {
 public:
  Thin(const Correlation<T>& c, const ConvBlock& block)
      : c_(c),
        block_(block),
        planes_(c.rows, c.columns, block.rows, block.columns),
        stride_(thin_stride(c.columns.size())),
        together_(planes_together(planes_.channel_stride * c.channels)),
        stores_directly_(sizeof(T) == sizeof(float) && c.channels == 1 && is_identity(c.rows) &&
                         is_identity(c.columns)) {
    for (const TargetPhase& rows : c.rows.target_phases) {
      for (const TargetPhase& columns : c.columns.target_phases) {
        phases_.push_back(
            {rows.offset, columns.offset,
             PairedTaps(c.rows, c.columns, planes_, rows.taps, columns.taps, c.row_stride)});
        taps_ += static_cast<Size>(phases_.back().taps.weights().size());
      }
    }
  }

  void run(bool is_small) const {
    const Size row_blocks = ceil_div(c_.rows.size(), block_.rows);
    const Size tasks = c_.batch * c_.groups * row_blocks;
    const Size group = is_small ? tasks : tasks / (8 * static_cast<Size>(thread_count())) + 1;
    const std::size_t columns = c_.columns.target_phases.size();
    const std::size_t packed = packed_size(planes_, c_.channels * together_);
    const std::size_t sums = columns * size(band_rows) * stride_;
    const std::size_t line = size(c_.columns.target_step) * stride_;
    OpScratch all(c_.pool, c_.op,
                  Scratch::rounded(packed) + Scratch::rounded(sums) + Scratch::rounded(line) +
                      Scratch::rounded(size(taps_ * c_.channels)),
                  size(ceil_div(tasks, group)));
    parallel_tasks(size(ceil_div(tasks, group)), [&](std::size_t index) {
      Scratch scratch(all);
      const Memory memory{scratch.take(packed), scratch.take(sums), scratch.take(line),
                          scratch.take(size(taps_ * c_.channels))};
      const Size first = static_cast<Size>(index) * group, last = std::min(tasks, first + group);
      if (row_blocks > 1) {
        for (Size task = first; task < last; ++task) {
          run_block(task / row_blocks, 1, task % row_blocks * block_.rows, memory);
        }
      } else {
        for (Size task = first; task < last; task += together_) {
          run_block(task, std::min(together_, last - task), 0, memory);
        }
      }
    });
  }

 private:
  static bool is_identity(const ConvAxis& axis) {
    return axis.target_step == 1 && axis.begin == axis.target_origin &&
           axis.size() == axis.target_size;
  }

  struct Memory {
    float *planes, *sums, *line, *weights;
  };

  /// Of some groups that follow each other.
  void run_block(Size first_group, Size groups, Size first_row, const Memory& memory) const {
    const Size plane = c_.rows.source_size * c_.columns.source_size;
    const Size rows = std::min(block_.rows, c_.rows.size() - first_row);
    const ConvBlock block{c_.rows.begin + first_row, c_.columns.begin, rows, block_.columns};
    pack_planes(c_.rows, c_.columns, planes_, block, c_.source + first_group * c_.channels * plane,
                c_.channels * groups, memory.planes);
    Memory own = memory;
    for (Size group = first_group; group < first_group + groups; ++group) {
      for (Size f = 0; f < c_.filters; ++f) {
        order_weights(group % c_.groups, f, memory.weights);
        const Size bands = ceil_div(rows, band_rows);
        for (Size i = 0; i < bands; ++i) {
          const Size begin = i * rows / bands, end = (i + 1) * rows / bands;
          run_band(group, f, block, begin, end - begin, own);
        }
      }
      own.planes += c_.channels * planes_.channel_stride;
    }
  }

  /// Of all phases, channel by channel.
  void order_weights(Size group, Size filter, float* to) const {
    const float* const from = c_.weights + group * c_.group_stride + filter * c_.filter_stride;
    for (const Phase& phase : phases_) {
      for (Size channel = 0; channel < c_.channels; ++channel) {
        for (const Size at : phase.taps.weights()) *to++ = from[channel * c_.channel_stride + at];
      }
    }
  }

  void run_band(Size group, Size filter, const ConvBlock& block, Size first, Size rows,
                const Memory& memory) const {
    const auto thin_product = conv_table().thin_product;
    const std::size_t columns = c_.columns.target_phases.size();
    const std::size_t band = size(band_rows) * stride_;
    const float* weights = memory.weights;
    const float start = c_.start != nullptr ? c_.start[group % c_.groups * c_.filters + filter] : 0;
    if constexpr (sizeof(T) == sizeof(float)) {
      if (stores_directly_) {
        const ThinTaps taps = phases_[0].taps.taps();
        const Size width = c_.columns.target_size;
        const Size at = (group * c_.filters + filter) * c_.rows.target_size * width +
                        (block.row + first - c_.rows.target_origin) * width;
        thin_product({&taps, memory.planes + first * planes_.width, weights, start, false,
                      c_.target + at, size(width), size(rows), size(width), true});
        end_sums(c_.addend != nullptr ? c_.addend + at : nullptr, c_.activation, c_.slope,
                 c_.target + at, rows * width);
        return;
      }
    }
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      const ThinTaps taps = phases_[i].taps.taps();
      for (Size channel = 0; channel < c_.channels; ++channel) {
        thin_product({&taps,
                      memory.planes + channel * planes_.channel_stride + first * planes_.width,
                      weights, start, channel > 0, memory.sums + i % columns * band, stride_,
                      size(rows), size(block.columns), false});
        weights += phases_[i].taps.weights().size();
      }
      if (i % columns + 1 < columns) continue;
      for (Size row = 0; row < rows; ++row) {
        const Size to = c_.rows.target_step * (block.row + first + row) + phases_[i].row_offset -
                        c_.rows.target_origin;
        if (to < 0 || to >= c_.rows.target_size) continue;
        const Size at =
            ((group * c_.filters + filter) * c_.rows.target_size + to) * c_.columns.target_size;
        store(&phases_[i + 1 - columns], memory.sums + size(row) * stride_, band, memory.line, at);
      }
    }
  }

  /// A row of targets, whose phases lie in turn. In steps there is no addend and no activation.
  void store(const Phase* phases, float* sums, std::size_t band, float* line, Size at) const {
    const Size step = c_.columns.target_step, count = c_.columns.size();
    const Size skipped = c_.columns.target_origin - step * c_.columns.begin;
    const Size targets = c_.columns.target_size;
    if (step == 1) {
      line = sums;
    } else if (step == 2 && c_.columns.target_phases.size() == 2) {
      const float* even = sums;
      const float* odd = sums + band;
      if (phases[0].column_offset == 1) std::swap(even, odd);
      if constexpr (sizeof(T) == sizeof(float)) {
        if (skipped == 1) std::swap(++even, odd);
        float* const target = c_.target + at;
        for (Size i = 0; i < targets / 2; ++i) {
          target[2 * i] = even[i];
          target[2 * i + 1] = odd[i];
        }
        if (targets % 2 != 0) target[targets - 1] = even[targets / 2];
        return;
      }
      for (Size i = 0; i < count; ++i) {
        line[2 * i] = even[i];
        line[2 * i + 1] = odd[i];
      }
    } else {
      for (std::size_t p = 0; p < c_.columns.target_phases.size(); ++p) {
        float* const own = line + phases[p].column_offset;
        for (Size i = 0; i < count; ++i) own[i * step] = sums[p * band + size(i)];
      }
    }
    line += skipped;
    end_sums(c_.addend != nullptr ? c_.addend + at : nullptr, c_.activation, c_.slope, line,
             targets);
    from_float32(line, c_.target + at, size(targets));
  }

  const Correlation<T>& c_;
  ConvBlock block_;
  ConvPlanes planes_;
  std::size_t stride_;  ///< of rows of sums
  Size together_;       ///< groups that are laid out in one call
  bool stores_directly_;
  std::vector<Phase> phases_;
  Size taps_ = 0;
};

}  // namespace

template <class T>
bool correlate_thin(const Correlation<T>& c, bool is_small) {
  constexpr Size most_steps = 16;
  if (!is_thin(c.channels, c.filters) || c.columns.target_step > most_steps) return false;
  const Size threads = is_small ? 1 : static_cast<Size>(thread_count());
  const Size tasks = threads == 1 ? 1 : ceil_div(2 * threads, c.batch * c.groups);
  const ConvBlock block = thin_block(c.rows, c.columns, c.channels, tasks);
  if (block.rows == 0) return false;
  Thin<T>(c, block).run(is_small);
  return true;
}

template bool correlate_thin(const Correlation<float>&, bool);
template bool correlate_thin(const Correlation<Half>&, bool);

}  // namespace tilewright::cpu
