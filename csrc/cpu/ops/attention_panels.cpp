#include <algorithm>
#include <bit>

#include "cpu/ops/attention_general.hpp"

// Many rows of attention_general.hpp: panels of them over blocks of keys.
namespace tilewright::cpu::general {

namespace {

bool all_finite(const float* rows, std::size_t count, std::size_t stride, std::size_t width) {
  std::uint32_t endless = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const auto bits = std::bit_cast<std::uint32_t>(rows[i * stride + j]);
      endless |= ((bits & 0x7f800000u) == 0x7f800000u) ? 1u : 0u;
    }
  }
  return endless == 0;
}

}  // namespace

/// Masks the scores of a panel.
template <class T, class K>
void GeneralAttention<T, K>::mask_panel(const Sequence& s, Size kv_head, const Panel& rows,
                                        Size first_key, Size count, float* scores) const {
  // So many keys of all rows stay in the nearest cache.
  constexpr Size group = 32;
  const bool shared = options_.mask_rows.head == 0 && options_.mask_rows.seq == 0;
  const Size height = shared ? 1 : rows.height;
  float added[panel][group], across[group][panel] = {};
  Size places[panel];
  for (Size i = 0; i < height; ++i) places[i] = mask_place(s, kv_head, rows.first + i);
  for (Size j = 0; j < count; j += group) {
    const Size here = std::min(group, count - j);
    for (Size i = 0; i < height; ++i) {
      mask_keys(places[i] + (first_key + j) * options_.mask_key, here, added[i]);
    }
    if (!shared) {
      row_kernels<float>().transpose(
          added[0], static_cast<std::size_t>(height), static_cast<std::size_t>(group),
          static_cast<std::size_t>(here), 1, across[0], static_cast<std::size_t>(panel));
    }
    for (Size key = 0; key < here; ++key) {
      float* const of_key = scores + (j + key) * panel;
      const float of_all = added[0][key];
      if (!shared) {
        for (Size i = 0; i < panel; ++i) of_key[i] = masked_score(of_key[i], across[key][i]);
      } else if (of_all != 0) {
        for (Size i = 0; i < panel; ++i) of_key[i] = masked_score(of_key[i], of_all);
      }
    }
  }
}

template <class T, class K>
std::size_t GeneralAttention<T, K>::block_keys() const {
  constexpr std::size_t cached_floats = 1 << 15;
  return std::clamp<std::size_t>(cached_floats / std::max(dim_, value_dim_) / 8 * 8,
                                 least_block_keys, most_block_keys);
}

template <class T, class K>
std::size_t GeneralAttention<T, K>::chunk_floats(Size rows) const {
  const auto panels = static_cast<std::size_t>(ceil_div(rows, panel));
  const std::size_t block = block_keys(), keys = Scratch::rounded(dim_);
  return panels * static_cast<std::size_t>(panel) * (dim_ + 2 + width_) + block * (keys + width_) +
         block * static_cast<std::size_t>(panel);
}

/// Some panels of rows, over blocks of keys: rows lie across, so that neighbouring lanes are
/// neighbouring rows, and each lane has a softmax of its own.
template <class T, class K>
void GeneralAttention<T, K>::run_chunk(const Task& task, OpScratch& all) const {
  const Sequence& s = sequences_[static_cast<std::size_t>(task.sequence)];
  constexpr auto wide = static_cast<std::size_t>(panel);
  constexpr bool convert = sizeof(K) != sizeof(float);
  const bool paged = static_cast<bool>(options_.page_table);
  const bool copy_keys = convert || paged;
  const bool copy_values = copy_keys || value_dim_ % kernels().simd_width != 0;
  const std::size_t block = block_keys();
  const auto panels = static_cast<std::size_t>(ceil_div(task.rows, panel));

  Scratch scratch(all);
  float* const across = scratch.take(panels * wide * dim_);
  float* const maxima = scratch.take(panels * wide);
  float* const totals = scratch.take(panels * wide);
  float* const sums = scratch.take(panels * wide * width_);
  float* const key_copy = scratch.take(block * Scratch::rounded(dim_));
  float* const value_copy = scratch.take(block * width_);
  float* const scores = scratch.take(block * wide);
  std::fill_n(maxima, panels * wide, -infinity);
  std::fill_n(totals, panels * wide, 0.0f);
  std::fill_n(sums, panels * wide * width_, 0.0f);
  if (copy_values) std::fill_n(value_copy, block * width_, 0.0f);

  const auto panel_at = [&](std::size_t i) {
    const Size first = task.first + static_cast<Size>(i) * panel;
    const std::size_t row = i * wide;
    return Panel{first,
                 std::min(panel, task.first + task.rows - first),
                 across + row * dim_,
                 maxima + row,
                 totals + row,
                 sums + row * width_};
  };
  const float scale = options_.soft_cap != 0 ? r_.scale : r_.scale * log2_e;
  for (std::size_t i = 0; i < panels; ++i) {
    const Panel p = panel_at(i);
    if (p.height != panel) std::fill_n(p.across, wide * dim_, 0.0f);
    for (Size j = 0; j < p.height; ++j) {
      row_kernels<T>().transpose(query(s, task.kv_head, p.first + j), 1, dim_, dim_, scale,
                                 p.across + j, wide);
    }
  }

  const auto copy = [&](bool values, Size key, Size count, std::size_t n, std::size_t stride,
                        float* to) {
    for (Size i = 0; i < count;) {
      const Size even = even_keys(key + i, count - i);
      widen(values, s, task.kv_head, key + i, even, n, stride,
            to + static_cast<std::size_t>(i) * stride);
      i += even;
    }
  };

  const Keys keys = seen(s, task.first, task.rows);
  Block here{};
  here.value_width = copy_values ? width_ : value_dim_;
  for (Size key = keys.first; key < keys.past; key += here.count) {
    here.first = key;
    // The first keys, few of them, give a largest score to begin with.
    constexpr Size first_keys = 16;
    here.count =
        std::min(key == keys.first ? first_keys : static_cast<Size>(block), keys.past - key);
    if (copy_keys) {
      copy(false, key, here.count, dim_, dim_, key_copy);
      here.keys = key_copy;
      here.key_stride = dim_;
    } else if constexpr (!convert) {
      here.keys = key_row(r_.k, r_.k_rows, s, task.kv_head, key);
      here.key_stride = static_cast<std::size_t>(r_.k_rows.seq);
    }
    if (copy_values) {
      copy(true, key, here.count, value_dim_, width_, value_copy);
      here.values = value_copy;
      here.value_stride = width_;
    } else if constexpr (!convert) {
      here.values = key_row(r_.v, r_.v_rows, s, task.kv_head, key);
      here.value_stride = static_cast<std::size_t>(r_.v_rows.seq);
    }
    for (std::size_t i = 0; i < panels; ++i) {
      attend(task, here, panel_at(i), key != keys.first, scores);
    }
  }
  for (std::size_t i = 0; i < panels; ++i) {
    const Panel p = panel_at(i);
    for (Size j = 0; j < p.height; ++j) {
      const auto row = static_cast<std::size_t>(j);
      write(p.sums + row * width_, p.totals[row], output(s, task.kv_head, p.first + j));
    }
  }
}

/// One panel of rows over one block of keys.
template <class T, class K>
void GeneralAttention<T, K>::attend(const Task& task, Block block, const Panel& rows,
                                    bool some_before, float* scores) const {
  const Sequence& s = sequences_[static_cast<std::size_t>(task.sequence)];
  constexpr auto wide = static_cast<std::size_t>(panel);
  const auto height = static_cast<std::size_t>(rows.height);
  // Of the block what some row sees.
  const Keys some = seen(s, rows.first, rows.height);
  const Size first = std::max(block.first, some.first);
  const Size past = std::min(block.first + block.count, some.past);
  if (first >= past) return;
  const auto skipped = static_cast<std::size_t>(first - block.first);
  block.keys += skipped * block.key_stride;
  block.values += skipped * block.value_stride;
  const Size number = past - first;
  const auto count = static_cast<std::size_t>(number);
  const bool masked = static_cast<bool>(options_.mask), capped = options_.soft_cap != 0;
  const bool ragged =
      seen(s, rows.first + rows.height - 1).first > first || seen(s, rows.first).past < past;

  static constexpr Tap one_tap{0, 0};
  TapProduct scoring{};
  scoring.taps = &one_tap;
  scoring.tap_count = 1;
  scoring.input = rows.across;
  scoring.input_stride = wide;
  scoring.channels = dim_;
  scoring.weights = block.keys;
  scoring.filter_stride = block.key_stride;
  scoring.weight_stride = 1;
  scoring.output = scores;
  scoring.output_stride = wide;
  scoring.filters = count;
  const std::size_t columns = Scratch::rounded(height);
  scoring.positions = columns;

  float factors[panel];
  if (some_before && !ragged && !masked && !capped &&
      kernels().linear.weigh_columns(scoring, rows.maxima, rows.totals)) {
    std::fill_n(factors, panel, 1.0f);
  } else {
    kernels().linear.tap_product(scoring);
    if (capped) {
      for (std::size_t j = 0; j < count; ++j) cap(scores + j * wide, columns);
    }
    if (masked) mask_panel(s, task.kv_head, rows, first, number, scores);
    for (std::size_t i = 0; ragged && i < height; ++i) {
      const Size row = rows.first + static_cast<Size>(i);
      const Keys own = seen(s, row);
      const Size from = std::clamp<Size>(own.first - first, 0, number);
      const Size to = std::clamp<Size>(own.past - first, from, number);
      for (Size j = 0; j < from; ++j) scores[j * panel + static_cast<Size>(i)] = -infinity;
      for (Size j = to; j < number; ++j) scores[j * panel + static_cast<Size>(i)] = -infinity;
    }
    kernels().linear.softmax_columns(scores, count, wide, columns, rows.maxima, rows.totals,
                                     factors);
  }

  if ((masked || ragged) && !all_finite(block.values, count, block.value_stride, value_dim_))
      [[unlikely]] {
    // What weighs nothing adds nothing.
    for (std::size_t i = 0; i < height; ++i) {
      float* const sums = rows.sums + i * width_;
      for (std::size_t j = 0; j < value_dim_; ++j) sums[j] *= factors[i];
      for (std::size_t j = 0; j < count; ++j) {
        if (scores[j * wide + i] == 0) continue;
        row_kernels<float>().add_weighted_rows(block.values + j * block.value_stride, 1,
                                               block.value_stride, scores + j * wide + i,
                                               value_dim_, sums);
      }
    }
    return;
  }
  TapProduct weighing{};
  weighing.taps = &one_tap;
  weighing.tap_count = 1;
  weighing.input = block.values;
  weighing.input_stride = block.value_stride;
  weighing.channels = count;
  weighing.weights = scores;
  weighing.filter_stride = 1;
  weighing.weight_stride = wide;
  weighing.output = rows.sums;
  weighing.output_stride = width_;
  weighing.kept = factors;
  weighing.filters = height;
  weighing.positions = block.value_width;
  kernels().linear.tap_product(weighing);
}

template std::size_t GeneralAttention<float>::chunk_floats(Size) const;
template std::size_t GeneralAttention<Half>::chunk_floats(Size) const;
template std::size_t GeneralAttention<float, Half>::chunk_floats(Size) const;
template std::size_t GeneralAttention<float, std::int8_t>::chunk_floats(Size) const;
template std::size_t GeneralAttention<Half, std::int8_t>::chunk_floats(Size) const;
template void GeneralAttention<float>::run_chunk(const Task&, OpScratch&) const;
template void GeneralAttention<Half>::run_chunk(const Task&, OpScratch&) const;
template void GeneralAttention<float, Half>::run_chunk(const Task&, OpScratch&) const;
template void GeneralAttention<float, std::int8_t>::run_chunk(const Task&, OpScratch&) const;
template void GeneralAttention<Half, std::int8_t>::run_chunk(const Task&, OpScratch&) const;

}  // namespace tilewright::cpu::general
