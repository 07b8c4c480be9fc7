#include "cpu/attention_general.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/elements.hpp"
#include "cpu/scratch.hpp"
#include "cpu/sequences.hpp"
#include "cpu/thread_pool.hpp"

// The softmax of attention.cpp over keys that masks, caps, windows, lengths and pages choose.
//
// The queries of all heads that share a kv head go together, those of one place behind each other,
// so that rows that go together see nearly the same keys.
namespace tilewright::cpu {

namespace {

constexpr float log2_e = 1.44269504f;
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr Size parallel_threshold = 1 << 16;
/// Rows of which a vector is not worth its while.
constexpr Size few_rows = 8;
constexpr Size panel = most_panel_columns, most_chunk_panels = 4;
constexpr Size few_block = 128, fewest_keys = 256;
constexpr std::size_t least_block_keys = 32, most_block_keys = 512;

Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

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

/// Some rows of the queries of a sequence that see one kv head, and for few rows a part of its keys.
struct Task {
  Size sequence, kv_head, first, rows;
  Size part, parts;
  std::size_t record;  ///< where what is known of few rows goes, in records
};

template <class T>
class GeneralAttention {
 public:
  GeneralAttention(const AttentionRequest& r, MemoryPool& pool)
      : r_(r),
        options_(r.options),
        pool_(pool),
        sequences_(sequences_of(r)),
        share_(r.heads / r.kv_heads),
        dim_(static_cast<std::size_t>(r.head_dim)),
        value_dim_(static_cast<std::size_t>(r.value_dim)),
        width_(Scratch::rounded(value_dim_)),
        record_(width_ + Scratch::rounded(dim_) + 16) {}

  void run();

 private:
  /// Keys from `first` up to `past`.
  struct Keys {
    Size first, past;
    Size count() const { return std::max<Size>(past - first, 0); }
  };
  Keys seen(const Sequence& s, Size row) const {
    const Size query = row / share_;
    return {std::max<Size>(query + s.low, 0), std::min(s.keys, query + s.high + 1)};
  }
  /// What some of the rows see.
  Keys seen(const Sequence& s, Size first_row, Size rows) const {
    return {seen(s, first_row).first, seen(s, first_row + rows - 1).past};
  }

  const T* query(const Sequence& s, Size kv_head, Size row) const {
    return data<T>(r_.q) + place(r_.q_rows, s, kv_head, row);
  }
  T* output(const Sequence& s, Size kv_head, Size row) const {
    return data<T>(r_.o) + place(r_.o_rows, s, kv_head, row);
  }
  Size place(const HeadRows& rows, const Sequence& s, Size kv_head, Size row) const {
    const Size batch = options_.q_starts ? 0 : s.index;
    return batch * rows.batch + (kv_head * share_ + row % share_) * rows.head +
           (s.first_query + row / share_) * rows.seq;
  }
  /// A row of k or of v; null where its page is none.
  const T* key_row(const BufferRange& range, const HeadRows& rows, const Sequence& s, Size kv_head,
                   Size key) const {
    const T* const base = data<T>(range) + kv_head * rows.head;
    if (!options_.page_table) {
      const Size batch = options_.kv_starts ? 0 : s.index;
      return base + batch * rows.batch + (s.first_key + key) * rows.seq;
    }
    const Size slots = r_.seq_kv / options_.page_size;
    const Size page =
        data<std::int32_t>(options_.page_table)[s.index * slots + key / options_.page_size];
    if (page < 0 || page >= options_.pages) return nullptr;
    return base + page * rows.batch + key % options_.page_size * rows.seq;
  }
  /// Keys from one on that lie evenly, up to `most`.
  Size even_keys(Size key, Size most) const {
    return options_.page_table ? std::min(most, options_.page_size - key % options_.page_size)
                               : most;
  }

  /// Caps and masks scores of a row to base 2, `stride` apart.
  void mask_row(const Sequence& s, Size kv_head, Size row, Size first_key, Size count,
                float* scores, Size stride) const;
  void cap(float* scores, std::size_t n) const;

  void write(const float* sums, float sum, T* to) const {
    if (sum == 0) {
      std::fill_n(to, value_dim_, T{});
    } else {
      kernels_for<T>().scale_from(sums, value_dim_, 1 / sum, to, Store::cached);
    }
  }

  void plan();
  void run_few(const Task& task, float* records) const;
  void join_few(const Task& task, float* records) const;
  std::size_t block_keys() const;
  std::size_t chunk_floats(Size rows) const;
  void run_chunk(const Task& task, OpScratch& all) const;

  /// Keys and their values, as rows of float32; values as whole vectors.
  struct Block {
    Size first, count;
    const float* keys;
    std::size_t key_stride;
    const float* values;
    std::size_t value_stride, value_width;
  };
  struct Panel {
    Size first, height;
    float* across;  ///< queries, element by element
    float* maxima;
    float* totals;
    float* sums;
  };
  void attend(const Task& task, Block block, const Panel& rows, bool some_before,
              float* scores) const;

  const AttentionRequest& r_;
  const AttentionOptions& options_;
  MemoryPool& pool_;
  std::vector<Sequence> sequences_;
  std::vector<Task> tasks_;
  std::size_t records_ = 0;
  Size most_chunk_rows_ = 0;
  Size share_;  ///< heads to a kv head
  std::size_t dim_, value_dim_, width_, record_;
  bool parallel_ = false;
};

template <class T>
void GeneralAttention<T>::mask_row(const Sequence& s, Size kv_head, Size row, Size first_key,
                                   Size count, float* scores, Size stride) const {
  const HeadRows& rows = options_.mask_rows;
  const Size at = s.index * rows.batch + (kv_head * share_ + row % share_) * rows.head +
                  row / share_ * rows.seq + first_key * options_.mask_key;
  if (options_.mask_dtype == DType::boolean) {
    const auto* const mask = data<std::uint8_t>(options_.mask) + at;
    for (Size j = 0; j < count; ++j) {
      if (mask[j * options_.mask_key] == 0) scores[j * stride] = -infinity;
    }
    return;
  }
  const T* const mask = data<T>(options_.mask) + at;
  constexpr Size group = 64;
  float added[group];
  for (Size j = 0; j < count; j += group) {
    const Size here = std::min(group, count - j);
    if (options_.mask_key == 1) {
      to_float32(mask + j, added, static_cast<std::size_t>(here));
    } else {
      for (Size i = 0; i < here; ++i) to_float32(mask + (j + i) * options_.mask_key, added + i, 1);
    }
    for (Size i = 0; i < here; ++i) {
      // The most negative numbers are no infinities to base 2 either.
      float power = added[i] * log2_e;
      if (power == -infinity && added[i] != -infinity) power = std::numeric_limits<float>::lowest();
      scores[(j + i) * stride] += power;
    }
  }
}

template <class T>
void GeneralAttention<T>::cap(float* scores, std::size_t n) const {
  const float by = options_.soft_cap, inverse = 1 / by;
  for (std::size_t i = 0; i < n; ++i) scores[i] *= inverse;
  kernels().float32.unary(UnaryOp::tanh, scores, scores, n, Store::cached);
  for (std::size_t i = 0; i < n; ++i) scores[i] *= by * log2_e;
}

template <class T>
void GeneralAttention<T>::plan() {
  Size work = 0, most_rows = 0;
  for (const Sequence& s : sequences_) {
    work += s.queries * s.keys;
    most_rows = std::max(most_rows, s.queries * share_);
  }
  const auto products = static_cast<double>(work) * static_cast<double>(r_.heads) *
                     static_cast<double>(r_.head_dim + r_.value_dim);
  parallel_ = products > 2 * parallel_threshold;
  const Size threads = parallel_ ? static_cast<Size>(thread_count()) : 1;
  const Size matrices = r_.batch * r_.kv_heads;
  const Size wanted = threads == 1 ? 1 : ceil_div(2 * threads, matrices);
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    const Sequence& s = sequences_[i];
    const Size rows = s.queries * share_;
    if (rows == 0) continue;
    const bool few = rows <= few_rows;
    const Size keys = seen(s, 0, rows).count();
    const Size parts = few ? std::clamp<Size>(keys / fewest_keys, 1, wanted) : 1;
    const Size panels = ceil_div(rows, panel);
    const Size chunks =
        few ? 1
            : std::clamp<Size>(threads == 1 ? 1 : ceil_div(4 * threads, matrices),
                               ceil_div(panels, most_chunk_panels), panels);
    for (Size kv_head = 0; kv_head < r_.kv_heads; ++kv_head) {
      const auto sequence = static_cast<Size>(i);
      for (Size part = 0; part < parts && few; ++part) {
        tasks_.push_back({sequence, kv_head, 0, rows, part, parts, records_});
        records_ += static_cast<std::size_t>(rows);
      }
      // The last rows see the most keys where later ones are hidden: they go first.
      for (Size chunk = chunks; chunk-- > 0 && !few;) {
        const Size first = std::min(rows, chunk * panels / chunks * panel);
        const Size past = std::min(rows, (chunk + 1) * panels / chunks * panel);
        if (first == past) continue;
        tasks_.push_back({sequence, kv_head, first, past - first, 0, 0, 0});
        most_chunk_rows_ = std::max(most_chunk_rows_, past - first);
      }
    }
  }
}

template <class T>
void GeneralAttention<T>::run() {
  plan();
  const bool few = records_ != 0, many = most_chunk_rows_ != 0;
  OpScratch all_records(pool_, "attention", std::max<std::size_t>(records_ * record_, 1));
  Scratch record_scratch(all_records);
  float* const records = record_scratch.take(records_ * record_);
  OpScratch all(pool_, "attention", many ? chunk_floats(most_chunk_rows_) : 1,
                parallel_ && many ? tasks_.size() : 1);
  const auto run_task = [&](std::size_t i) {
    const Task& task = tasks_[i];
    if (task.parts == 0) return run_chunk(task, all);
    run_few(task, records);
    if (task.parts == 1) join_few(task, records);
  };
  if (parallel_) {
    parallel_tasks(tasks_.size(), run_task);
  } else {
    for (std::size_t i = 0; i < tasks_.size(); ++i) run_task(i);
  }
  if (!few) return;
  for (const Task& task : tasks_) {
    if (task.parts > 1 && task.part == 0) join_few(task, records);
  }
}

// Of each row: the sums, the query, the largest score and what the weights come to.
template <class T>
void GeneralAttention<T>::run_few(const Task& task, float* records) const {
  const Sequence& s = sequences_[static_cast<std::size_t>(task.sequence)];
  const auto rows = static_cast<std::size_t>(task.rows);
  float* const own = records + task.record * record_;
  const Keys all = seen(s, 0, task.rows);
  const Size piece = ceil_div(all.count(), task.parts);
  const Size begin = all.first + task.part * piece, end = std::min(all.past, begin + piece);
  float largest[few_rows], total[few_rows];
  for (std::size_t i = 0; i < rows; ++i) {
    largest[i] = -infinity;
    total[i] = 0;
    std::fill_n(own + i * record_, value_dim_, 0.0f);
    to_float32(query(s, task.kv_head, static_cast<Size>(i)), own + i * record_ + width_, dim_);
  }
  const bool masked = static_cast<bool>(options_.mask);
  for (Size key = begin; key < end;) {
    const Size count = even_keys(key, std::min(few_block, end - key));
    const T* const keys = key_row(r_.k, r_.k_rows, s, task.kv_head, key);
    const T* const values = key_row(r_.v, r_.v_rows, s, task.kv_head, key);
    for (std::size_t i = 0; i < rows; ++i) {
      const Keys own_keys = seen(s, static_cast<Size>(i));
      const Size from = std::max<Size>(own_keys.first - key, 0);
      const Size here = std::min(count, own_keys.past - key) - from;
      if (here <= 0) continue;
      const auto n = static_cast<std::size_t>(here);
      float scores[few_block];
      float* const sums = own + i * record_;
      if (keys == nullptr) {
        std::fill_n(scores, n, std::numeric_limits<float>::quiet_NaN());
      } else {
        const float scale = options_.soft_cap != 0 ? r_.scale : r_.scale * log2_e;
        row_kernels<T>().dot_rows(keys + from * r_.k_rows.seq, n,
                                  static_cast<std::size_t>(r_.k_rows.seq), sums + width_, dim_,
                                  scale, scores);
      }
      if (options_.soft_cap != 0) cap(scores, n);
      if (masked) mask_row(s, task.kv_head, static_cast<Size>(i), key + from, here, scores, 1);
      const float before = largest[i];
      const float sum = kernels().linear.softmax_step(scores, n, 1, largest[i]);
      if (largest[i] != before) {
        const float factor = std::exp2(before - largest[i]);
        total[i] *= factor;
        for (std::size_t j = 0; j < value_dim_; ++j) sums[j] *= factor;
      }
      total[i] += sum;
      if (values == nullptr) continue;
      const auto add = [&](std::size_t first, std::size_t number) {
        row_kernels<T>().add_weighted_rows(
            values + (from + static_cast<Size>(first)) * r_.v_rows.seq, number,
            static_cast<std::size_t>(r_.v_rows.seq), scores + first, value_dim_, sums);
      };
      if (!masked) {
        add(0, n);
        continue;
      }
      // What weighs nothing adds nothing, were it NaN.
      for (std::size_t j = 0; j < n;) {
        std::size_t past = j;
        while (past < n && scores[past] != 0) ++past;
        if (past != j) add(j, past - j);
        j = past + 1;
      }
    }
    key += count;
  }
  for (std::size_t i = 0; i < rows; ++i) {
    float* const known = own + (i + 1) * record_ - 16;
    known[0] = largest[i];
    known[1] = total[i];
  }
}

template <class T>
void GeneralAttention<T>::join_few(const Task& task, float* records) const {
  const Sequence& s = sequences_[static_cast<std::size_t>(task.sequence)];
  const std::size_t step = static_cast<std::size_t>(task.rows) * record_;
  for (Size row = 0; row < task.rows; ++row) {
    float* const all = records + (task.record + static_cast<std::size_t>(row)) * record_;
    const auto part_at = [&](Size part) { return all + static_cast<std::size_t>(part) * step; };
    float largest = -infinity, sum = 0;
    for (Size p = 0; p < task.parts; ++p) {
      largest = std::max(largest, part_at(p)[record_ - 16]);
    }
    for (Size p = 0; p < task.parts; ++p) {
      const float* const one = part_at(p);
      const float before = one[record_ - 16];
      const float factor = before == largest ? 1 : std::exp2(before - largest);
      sum += factor * one[record_ - 15];
      for (std::size_t j = 0; j < value_dim_ && task.parts > 1; ++j) {
        all[j] = (p == 0 ? 0 : all[j]) + factor * one[j];
      }
    }
    write(all, sum, output(s, task.kv_head, row));
  }
}

template <class T>
std::size_t GeneralAttention<T>::block_keys() const {
  constexpr std::size_t cached_floats = 1 << 15;
  return std::clamp<std::size_t>(cached_floats / std::max(dim_, value_dim_) / 8 * 8,
                                 least_block_keys, most_block_keys);
}

template <class T>
std::size_t GeneralAttention<T>::chunk_floats(Size rows) const {
  const auto panels = static_cast<std::size_t>(ceil_div(rows, panel));
  const std::size_t block = block_keys(), keys = Scratch::rounded(dim_);
  return panels * static_cast<std::size_t>(panel) * (dim_ + 2 + width_) + block * (keys + width_) +
         block * static_cast<std::size_t>(panel);
}

/// Some panels of rows, over blocks of keys: rows lie across, so that neighbouring lanes are
/// neighbouring rows, and each lane has a softmax of its own.
template <class T>
void GeneralAttention<T>::run_chunk(const Task& task, OpScratch& all) const {
  const Sequence& s = sequences_[static_cast<std::size_t>(task.sequence)];
  constexpr auto wide = static_cast<std::size_t>(panel);
  constexpr bool convert = sizeof(T) != sizeof(float);
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
    return Panel{first,        std::min(panel, task.first + task.rows - first),
                 across + row * dim_, maxima + row, totals + row, sums + row * width_};
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

  const auto copy = [&](const BufferRange& range, const HeadRows& rows, Size key, Size count,
                        std::size_t n, std::size_t stride, float* to) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (Size i = 0; i < count;) {
      const Size even = even_keys(key + i, count - i);
      const T* const from = key_row(range, rows, s, task.kv_head, key + i);
      for (Size j = 0; j < even; ++j) {
        float* const row = to + static_cast<std::size_t>(i + j) * stride;
        if (from == nullptr) {
          std::fill_n(row, n, nan);
        } else {
          to_float32(from + j * rows.seq, row, n);
        }
      }
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
      copy(r_.k, r_.k_rows, key, here.count, dim_, dim_, key_copy);
      here.keys = key_copy;
      here.key_stride = dim_;
    } else if constexpr (!convert) {
      here.keys = key_row(r_.k, r_.k_rows, s, task.kv_head, key);
      here.key_stride = static_cast<std::size_t>(r_.k_rows.seq);
    }
    if (copy_values) {
      copy(r_.v, r_.v_rows, key, here.count, value_dim_, width_, value_copy);
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
template <class T>
void GeneralAttention<T>::attend(const Task& task, Block block, const Panel& rows,
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
  const bool ragged = seen(s, rows.first + rows.height - 1).first > first ||
                      seen(s, rows.first).past < past;

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
    for (std::size_t i = 0; (masked || ragged) && i < height; ++i) {
      const Size row = rows.first + static_cast<Size>(i);
      if (masked) mask_row(s, task.kv_head, row, first, number, scores + i, panel);
      const Keys own = seen(s, row);
      const Size from = std::clamp<Size>(own.first - first, 0, number);
      const Size to = std::clamp<Size>(own.past - first, from, number);
      for (Size j = 0; j < from; ++j) scores[j * panel + static_cast<Size>(i)] = -infinity;
      for (Size j = to; j < number; ++j) scores[j * panel + static_cast<Size>(i)] = -infinity;
    }
    kernels().linear.softmax_columns(scores, count, wide, columns, rows.maxima, rows.totals,
                                     factors);
  }

  if ((masked || ragged) &&
      !all_finite(block.values, count, block.value_stride, value_dim_)) [[unlikely]] {
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

}  // namespace

void general_attention(const AttentionRequest& r, MemoryPool& pool) {
  if (r.dtype == DType::float16) {
    GeneralAttention<Half>(r, pool).run();
  } else {
    GeneralAttention<float>(r, pool).run();
  }
}

}  // namespace tilewright::cpu
