#include <algorithm>
#include <cmath>
#include <limits>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/elements.hpp"
#include "cpu/ops/attention_general.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

// Softmax over keys that come in blocks: each query keeps the largest score so far, the sum of
// e^(score - largest) and the sum of the values weighted by that; a new largest score scales both
// sums down. Only the scores of one block of keys exist at a time.
//
// The queries of all heads that share a key and value head go together, so a kv head is one matrix
// of heads / kv_heads * seq_q query rows.
namespace tilewright::cpu {

namespace {

constexpr float log2_e = 1.44269504f;
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr Size parallel_threshold = 1 << 16;
/// Rows of which a vector is not worth its while.
constexpr Size few_rows = 8;
/// Rows go in vectors of 16, and these in panels, as evenly as they can.
constexpr Size row_vector = 16, panel_vectors = most_panel_columns / row_vector;

Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

/// What is known of a query after some keys.
struct Running {
  float largest = -infinity;
  float sum = 0;
};

template <class T>
class Attention {
 public:
  Attention(const AttentionRequest& r, MemoryPool& pool)
      : r_(r),
        pool_(pool),
        rows_(r.heads / r.kv_heads * r.seq_q),
        vectors_(ceil_div(rows_, row_vector)),
        panels_(ceil_div(vectors_, panel_vectors)),
        heads_(r.heads / r.kv_heads),
        matrices_(r.batch * r.kv_heads),
        keys_(r.causal ? std::min(r.seq_kv, r.q_offset + r.seq_q) : r.seq_kv),
        dim_(static_cast<std::size_t>(r.head_dim)),
        factor_(r.scale * log2_e),
        parallel_(matrices_ * rows_ * keys_ * r.head_dim > parallel_threshold) {}

  void run() const { rows_ <= few_rows ? run_few_rows() : run_blocks(); }

 private:
  /// How many keys this row sees.
  Size visible(Size row) const {
    return r_.causal ? std::min(r_.seq_kv, row % r_.seq_q + r_.q_offset + 1) : r_.seq_kv;
  }
  /// Where a row of q or of o lies.
  Size place(const HeadRows& rows, Size matrix, Size row) const {
    const Size head = matrix % r_.kv_heads * heads_ + row / r_.seq_q;
    return matrix / r_.kv_heads * rows.batch + head * rows.head + row % r_.seq_q * rows.seq;
  }
  /// Where the rows of k or of v of a matrix do.
  Size place(const HeadRows& rows, Size matrix) const {
    return matrix / r_.kv_heads * rows.batch + matrix % r_.kv_heads * rows.head;
  }
  const T* query(Size matrix, Size row) const {
    return data<T>(r_.q) + place(r_.q_rows, matrix, row);
  }
  const T* keys(Size matrix) const { return data<T>(r_.k) + place(r_.k_rows, matrix); }
  const T* values(Size matrix) const { return data<T>(r_.v) + place(r_.v_rows, matrix); }
  T* output(Size matrix, Size row) const { return data<T>(r_.o) + place(r_.o_rows, matrix, row); }
  /// Rows of q from one on that lie evenly, up to `most`.
  Size even_rows(Size row, Size most) const {
    const bool all = r_.q_rows.head == r_.seq_q * r_.q_rows.seq;
    return all ? most : std::min(most, r_.seq_q - row % r_.seq_q);
  }

  template <class Task>
  void run_tasks(Size tasks, Task&& task) const {
    if (parallel_) {
      parallel_tasks(static_cast<std::size_t>(tasks),
                     [&](std::size_t i) { task(static_cast<Size>(i)); });
    } else {
      for (Size i = 0; i < tasks; ++i) task(i);
    }
  }

  /// Turns scores into weights and scales the row's sums to the new largest score.
  void weigh(float* scores, Size count, Running& running, float* sums) const {
    const float before = running.largest;
    const float sum = kernels().linear.softmax_step(scores, static_cast<std::size_t>(count),
                                                    factor_, running.largest);
    if (running.largest != before) {
      const float factor = std::exp2((before - running.largest) * factor_);
      running.sum *= factor;
      for (std::size_t j = 0; j < dim_; ++j) sums[j] *= factor;
    }
    running.sum += sum;
  }

  static void write(const float* sums, std::size_t dim, float sum, T* to) {
    kernels_for<T>().scale_from(sums, dim, 1 / sum, to, Store::cached);
  }

  void run_few_rows() const;
  void run_blocks() const;
  /// Floats that a chunk of so many panels works in, and keys of a block.
  std::size_t chunk_floats(std::size_t panels) const;
  std::size_t block_keys() const;
  void run_chunk(Size matrix, Size first_panel, Size last_panel, OpScratch& all) const;

  /// Keys and their values, as rows of float32; values as whole vectors.
  struct Block {
    Size first, count;
    const float* keys;
    std::size_t key_stride;
    const float* values;
    std::size_t value_stride, value_width;

    Block part(Size from, Size number) const {
      return {first + from,
              number,
              keys + static_cast<std::size_t>(from) * key_stride,
              key_stride,
              values + static_cast<std::size_t>(from) * value_stride,
              value_stride,
              value_width};
    }
  };

  /// Queries that go together, and what is known of them after some keys.
  struct Panel {
    Size first;
    std::size_t height;
    float* across;  ///< element by element of the head
    float* maxima;
    float* totals;
    float* sums;
  };
  Size first_row(Size panel) const {
    return std::min(rows_, panel * vectors_ / panels_ * row_vector);
  }
  void attend(const Block& block, const Panel& queries, float* scores, std::size_t width) const;

  const AttentionRequest& r_;
  MemoryPool& pool_;
  Size rows_, vectors_, panels_;
  Size heads_;  ///< that share a kv head
  Size matrices_;
  Size keys_;  ///< that some query sees
  std::size_t dim_;
  float factor_;  ///< to differences of scores, whose powers of two are wanted
  bool parallel_;
};

// Few rows: decoding. Memory bounds it, so the keys of one head are split over threads where there
// are few heads, and the parts put together after.
template <class T>
void Attention<T>::run_few_rows() const {
  constexpr Size block = 128, fewest_keys = 256;
  const Size threads = parallel_ ? static_cast<Size>(thread_count()) : 1;
  const Size wanted = threads == 1 ? 1 : ceil_div(2 * threads, matrices_);
  const Size part = std::max(ceil_div(keys_, wanted), std::min(fewest_keys, keys_));
  const Size parts = ceil_div(keys_, part);

  // For each matrix, part and row: the sums, the query, and what is known of it.
  const std::size_t width = Scratch::rounded(dim_), record = 2 * width + 16;
  const Size key_stride = r_.k_rows.seq, value_stride = r_.v_rows.seq;
  const auto rows = static_cast<std::size_t>(rows_);
  OpScratch all(pool_, "attention", static_cast<std::size_t>(matrices_ * parts) * rows * record);
  Scratch scratch(all);
  float* const records = scratch.take(static_cast<std::size_t>(matrices_ * parts) * rows * record);

  run_tasks(matrices_ * parts, [&](Size task) {
    const Size matrix = task / parts;
    const Size first = task % parts * part, last = std::min(keys_, first + part);
    float* const own = records + static_cast<std::size_t>(task) * rows * record;
    Running running[few_rows];
    for (std::size_t i = 0; i < rows; ++i) {
      std::fill_n(own + i * record, dim_, 0.0f);
      to_float32(query(matrix, static_cast<Size>(i)), own + i * record + width, dim_);
    }
    for (Size key = first; key < last; key += block) {
      const T* const key_rows = keys(matrix) + key * key_stride;
      const T* const value_rows = values(matrix) + key * value_stride;
      for (std::size_t i = 0; i < rows; ++i) {
        const Size count = std::min({block, last - key, visible(static_cast<Size>(i)) - key});
        if (count <= 0) continue;
        float scores[block];
        float* const sums = own + i * record;
        row_kernels<T>().dot_rows(key_rows, static_cast<std::size_t>(count),
                                  static_cast<std::size_t>(key_stride), sums + width, dim_, 1,
                                  scores);
        weigh(scores, count, running[i], sums);
        row_kernels<T>().add_weighted_rows(value_rows, static_cast<std::size_t>(count),
                                           static_cast<std::size_t>(value_stride), scores, dim_,
                                           sums);
      }
    }
    for (std::size_t i = 0; i < rows; ++i) {
      own[i * record + 2 * width] = running[i].largest;
      own[i * record + 2 * width + 1] = running[i].sum;
    }
  });

  for (Size matrix = 0; matrix < matrices_; ++matrix) {
    for (std::size_t i = 0; i < rows; ++i) {
      float* const all = records + (static_cast<std::size_t>(matrix * parts) * rows + i) * record;
      const std::size_t step = rows * record;
      float largest = -infinity;
      for (Size p = 0; p < parts; ++p) {
        largest = std::max(largest, all[static_cast<std::size_t>(p) * step + 2 * width]);
      }
      float sum = 0;
      for (Size p = 0; p < parts; ++p) {
        const float* const one = all + static_cast<std::size_t>(p) * step;
        const float before = one[2 * width];
        const float factor = before == largest ? 1 : std::exp2((before - largest) * factor_);
        sum += factor * one[2 * width + 1];
        for (std::size_t j = 0; j < dim_; ++j) all[j] = (p == 0 ? 0 : all[j]) + factor * one[j];
      }
      write(all, dim_, sum, output(matrix, static_cast<Size>(i)));
    }
  }
}

/// Queries that go together.
constexpr std::size_t panel = most_panel_columns;
constexpr Size most_chunk_panels = 4, group_rows = 8;
/// The first keys, few of them, give a largest score to begin with.
constexpr Size first_block_keys = 16;
constexpr std::size_t least_block_keys = 32, most_block_keys = 512;

template <class T>
void Attention<T>::run_blocks() const {
  const Size threads = parallel_ ? static_cast<Size>(thread_count()) : 1;
  const Size wanted = threads == 1 ? 1 : ceil_div(4 * threads, matrices_);
  const Size chunks = std::min(panels_, std::max(wanted, ceil_div(panels_, most_chunk_panels)));
  OpScratch all(pool_, "attention",
                chunk_floats(static_cast<std::size_t>(ceil_div(panels_, chunks))),
                parallel_ ? static_cast<std::size_t>(matrices_ * chunks) : 1);
  // The last rows of a causal matrix see the most keys: they go first.
  run_tasks(matrices_ * chunks, [&](Size task) {
    const Size chunk = chunks - 1 - task % chunks;
    run_chunk(task / chunks, chunk * panels_ / chunks, (chunk + 1) * panels_ / chunks, all);
  });
}

template <class T>
std::size_t Attention<T>::block_keys() const {
  constexpr std::size_t cached_floats = 1 << 15;
  return std::clamp<std::size_t>(cached_floats / dim_ / 8 * 8, least_block_keys, most_block_keys);
}

template <class T>
std::size_t Attention<T>::chunk_floats(std::size_t panels) const {
  const std::size_t width = Scratch::rounded(dim_), block = block_keys();
  return panels * panel * (dim_ + 2 + width) + 2 * block * width + block * panel;
}

/// Some panels of a matrix, over blocks of keys. Queries lie across, so that neighbouring lanes are
/// neighbouring queries: keys and values are read as they lie, and each lane has a softmax of its
/// own.
template <class T>
void Attention<T>::run_chunk(Size matrix, Size first_panel, Size last_panel, OpScratch& all) const {
  const std::size_t block = block_keys();
  const std::size_t width = Scratch::rounded(dim_);
  constexpr bool convert = sizeof(T) != sizeof(float);
  const bool widen_values = convert || dim_ % kernels().simd_width != 0;
  const auto panels = static_cast<std::size_t>(last_panel - first_panel);

  Scratch scratch(all);
  float* const queries_across = scratch.take(panels * panel * dim_);
  float* const maxima = scratch.take(panels * panel);
  float* const totals = scratch.take(panels * panel);
  float* const sums = scratch.take(panels * panel * width);
  float* const key_copy = scratch.take(block * width);
  float* const value_copy = scratch.take(block * width);
  float* const scores = scratch.take(block * panel);
  std::fill_n(maxima, panels * panel, -infinity);
  std::fill_n(totals, panels * panel, 0.0f);
  std::fill_n(sums, panels * panel * width, 0.0f);
  if (widen_values) std::fill_n(value_copy, block * width, 0.0f);

  const auto panel_at = [&](std::size_t i) {
    const Size first = first_row(first_panel + static_cast<Size>(i));
    const Size last = first_row(first_panel + static_cast<Size>(i) + 1);
    const std::size_t row = i * panel;
    return Panel{first,
                 static_cast<std::size_t>(last - first),
                 queries_across + row * dim_,
                 maxima + row,
                 totals + row,
                 sums + row * width};
  };
  Size last_key = 0;
  for (std::size_t i = 0; i < panels; ++i) {
    const Panel p = panel_at(i);
    if (p.height % row_vector != 0) std::fill_n(p.across, panel * dim_, 0.0f);
    for (std::size_t j = 0; j < p.height;) {
      const Size row = p.first + static_cast<Size>(j);
      const auto rows = static_cast<std::size_t>(even_rows(row, static_cast<Size>(p.height - j)));
      row_kernels<T>().transpose(query(matrix, row), rows, static_cast<std::size_t>(r_.q_rows.seq),
                                 dim_, factor_, p.across + j, panel);
      j += rows;
    }
    for (std::size_t j = 0; j < p.height; ++j) {
      last_key = std::max(last_key, visible(p.first + static_cast<Size>(j)));
    }
  }

  Block keys_here{};
  keys_here.key_stride = convert ? dim_ : static_cast<std::size_t>(r_.k_rows.seq);
  keys_here.value_width = widen_values ? width : dim_;
  for (Size key = 0; key < last_key; key += keys_here.count) {
    keys_here.first = key;
    keys_here.count =
        std::min(key == 0 ? first_block_keys : static_cast<Size>(block), last_key - key);
    const auto count = static_cast<std::size_t>(keys_here.count);
    const T* const key_rows = keys(matrix) + key * r_.k_rows.seq;
    const T* const value_rows = values(matrix) + key * r_.v_rows.seq;
    if constexpr (convert) {
      const auto stride = static_cast<std::size_t>(r_.k_rows.seq);
      // Rows without gaps in one go.
      const std::size_t rows = stride == dim_ ? count : 1;
      for (std::size_t i = 0; i < count; i += rows) {
        to_float32(key_rows + i * stride, key_copy + i * dim_, rows * dim_);
      }
      keys_here.keys = key_copy;
    } else {
      keys_here.keys = key_rows;
      keys_here.values = value_rows;
      keys_here.value_stride = static_cast<std::size_t>(r_.v_rows.seq);
    }
    if (widen_values) {
      for (std::size_t i = 0; i < count; ++i) {
        to_float32(value_rows + static_cast<Size>(i) * r_.v_rows.seq, value_copy + i * width, dim_);
      }
      keys_here.values = value_copy;
      keys_here.value_stride = width;
    }
    for (std::size_t i = 0; i < panels; ++i) attend(keys_here, panel_at(i), scores, width);
  }
  for (std::size_t i = 0; i < panels; ++i) {
    const Panel p = panel_at(i);
    for (std::size_t j = 0; j < p.height; ++j) {
      write(p.sums + j * width, dim_, p.totals[j], output(matrix, p.first + static_cast<Size>(j)));
    }
  }
}

/// One panel of queries over one block of keys.
template <class T>
void Attention<T>::attend(const Block& block, const Panel& queries, float* scores,
                          std::size_t width) const {
  const std::size_t height = queries.height;
  Size here[panel];  // keys of this block that each query sees
  Size most = block.count, fewest = block.count;
  if (r_.causal) {
    for (std::size_t i = 0; i < height; ++i) {
      here[i] =
          std::clamp<Size>(visible(queries.first + static_cast<Size>(i)) - block.first, 0, most);
    }
    most = *std::max_element(here, here + height);
    fewest = *std::min_element(here, here + height);
  }
  if (most == 0) return;
  const bool ragged = fewest < most;
  // What all see goes first, and the rest by itself.
  if (const Size whole = fewest / group_rows * group_rows; ragged && whole != 0) {
    attend(block.part(0, whole), queries, scores, width);
    attend(block.part(whole, most - whole), queries, scores, width);
    return;
  }
  const auto count = static_cast<std::size_t>(most);
  const std::size_t columns = Scratch::rounded(height);

  static constexpr Tap one_tap{0, 0};
  TapProduct scoring{};
  scoring.taps = &one_tap;
  scoring.tap_count = 1;
  scoring.input = queries.across;
  scoring.input_stride = panel;
  scoring.channels = dim_;
  scoring.weights = block.keys;
  scoring.filter_stride = block.key_stride;
  scoring.weight_stride = 1;
  scoring.output = scores;
  scoring.output_stride = panel;
  scoring.filters = count;
  scoring.positions = columns;

  float factors[panel];
  if (block.first != 0 && !ragged &&
      kernels().linear.weigh_columns(scoring, queries.maxima, queries.totals)) {
    std::fill_n(factors, panel, 1.0f);
  } else {
    kernels().linear.tap_product(scoring);
    for (std::size_t i = 0; ragged && i < height; ++i) {
      for (auto j = static_cast<std::size_t>(here[i]); j < count; ++j) {
        scores[j * panel + i] = -infinity;
      }
    }
    kernels().linear.softmax_columns(scores, count, panel, columns, queries.maxima, queries.totals,
                                     factors);
  }

  TapProduct weighing{};
  weighing.taps = &one_tap;
  weighing.tap_count = 1;
  weighing.input = block.values;
  weighing.input_stride = block.value_stride;
  weighing.filter_stride = 1;
  weighing.weight_stride = panel;
  weighing.output_stride = width;
  weighing.positions = block.value_width;
  // Rows that see as many keys go together; what one sees beyond its group it adds alone.
  const std::size_t group = ragged ? group_rows : height;
  for (std::size_t i = 0; i < height; i += group) {
    const std::size_t members = std::min(group, height - i);
    const Size shared = ragged ? *std::min_element(here + i, here + i + members) : most;
    weighing.weights = scores + i;
    weighing.output = queries.sums + i * width;
    weighing.kept = factors + i;
    weighing.filters = members;
    weighing.channels = static_cast<std::size_t>(shared);
    kernels().linear.tap_product(weighing);
    for (std::size_t row = i; ragged && row < i + members; ++row) {
      float weights[most_block_keys];
      const auto more = static_cast<std::size_t>(here[row] - shared);
      if (more == 0) continue;
      const auto from = static_cast<std::size_t>(shared);
      for (std::size_t j = 0; j < more; ++j) weights[j] = scores[(from + j) * panel + row];
      row_kernels<float>().add_weighted_rows(block.values + from * block.value_stride, more,
                                             block.value_stride, weights, dim_,
                                             queries.sums + row * width);
    }
  }
}

}  // namespace

void CpuBackend::do_attention(const AttentionRequest& r) {
  if (!r.plain) return general_attention(r, *memory_);
  r.dtype == DType::float16 ? Attention<Half>(r, *memory_).run()
                            : Attention<float>(r, *memory_).run();
}

}  // namespace tilewright::cpu
