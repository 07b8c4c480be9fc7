#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

// Softmax over keys that come in blocks: each query keeps the largest score so far, the sum of
// e^(score - largest) and the sum of the values weighted by that; a new largest score scales both
// sums down. Only the scores of one block of keys exist at a time.
//
// The queries of all heads that share a key and value head lie behind each other, so a kv head is
// one matrix of heads / kv_heads * seq_q query rows.
namespace tilewright::cpu {

namespace {

constexpr float log2_e = 1.44269504f;
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr Size parallel_threshold = 1 << 16;
/// Rows for which keys are better read as they lie than transposed first.
constexpr Size few_rows = 8;

Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

/// What is known of a query after some keys.
struct Running {
  float largest = -infinity;
  float sum = 0;
};

template <class T>
class Attention {
 public:
  explicit Attention(const AttentionRequest& r)
      : r_(r),
        rows_(r.heads / r.kv_heads * r.seq_q),
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
  const T* queries(Size matrix) const { return data<T>(r_.q) + matrix * rows_ * r_.head_dim; }
  const T* keys(Size matrix) const { return data<T>(r_.k) + matrix * r_.seq_kv * r_.head_dim; }
  const T* values(Size matrix) const { return data<T>(r_.v) + matrix * r_.seq_kv * r_.head_dim; }
  T* output(Size matrix) const { return data<T>(r_.o) + matrix * rows_ * r_.head_dim; }

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

  static void write(float* sums, std::size_t dim, float sum, T* to) {
    const float factor = 1 / sum;
    for (std::size_t j = 0; j < dim; ++j) sums[j] *= factor;
    from_float32(sums, to, dim);
  }

  void run_few_rows() const;
  void run_blocks() const;
  void run_chunk(Size matrix, Size first_row, Size chunk) const;

  const AttentionRequest& r_;
  Size rows_, matrices_;
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
  const auto rows = static_cast<std::size_t>(rows_);
  Scratch scratch(static_cast<std::size_t>(matrices_ * parts) * rows * record);
  float* const records = scratch.take(static_cast<std::size_t>(matrices_ * parts) * rows * record);

  run_tasks(matrices_ * parts, [&](Size task) {
    const Size matrix = task / parts;
    const Size first = task % parts * part, last = std::min(keys_, first + part);
    float* const own = records + static_cast<std::size_t>(task) * rows * record;
    Running running[few_rows];
    for (std::size_t i = 0; i < rows; ++i) {
      std::fill_n(own + i * record, dim_, 0.0f);
      to_float32(queries(matrix) + i * dim_, own + i * record + width, dim_);
    }
    for (Size key = first; key < last; key += block) {
      const T* const key_rows = keys(matrix) + key * r_.head_dim;
      const T* const value_rows = values(matrix) + key * r_.head_dim;
      for (std::size_t i = 0; i < rows; ++i) {
        const Size count = std::min({block, last - key, visible(static_cast<Size>(i)) - key});
        if (count <= 0) continue;
        float scores[block];
        float* const sums = own + i * record;
        row_kernels<T>().dot_rows(key_rows, static_cast<std::size_t>(count), dim_, sums + width,
                                  dim_, 1, scores);
        weigh(scores, count, running[i], sums);
        row_kernels<T>().add_weighted_rows(value_rows, static_cast<std::size_t>(count), dim_,
                                           scores, dim_, sums);
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
      write(all, dim_, sum, output(matrix) + i * dim_);
    }
  }
}

constexpr Size most_chunk_rows = 512, block_rows = 32, group_rows = 8;

template <class T>
void Attention<T>::run_blocks() const {
  const Size threads = parallel_ ? static_cast<Size>(thread_count()) : 1;
  const Size wanted = threads == 1 ? 1 : ceil_div(4 * threads, matrices_);
  Size chunk = std::min(most_chunk_rows, ceil_div(rows_, wanted));
  chunk = ceil_div(std::max(chunk, std::min<Size>(rows_, 2 * block_rows)), block_rows) * block_rows;
  const Size chunks = ceil_div(rows_, chunk);
  // The last rows of a causal matrix see the most keys: they go first.
  run_tasks(matrices_ * chunks, [&](Size task) {
    const Size first = (chunks - 1 - task % chunks) * chunk;
    run_chunk(task / chunks, first, std::min(chunk, rows_ - first));
  });
}

/// The rows of one chunk, over blocks of keys: the keys transposed and the values as rows of whole
/// vectors, both of a size for the first-level cache.
template <class T>
void Attention<T>::run_chunk(Size matrix, Size first_row, Size chunk) const {
  constexpr std::size_t granule = 48, cached_floats = 192 * 64;
  const std::size_t block =
      std::clamp(cached_floats / dim_ / granule, std::size_t{1}, std::size_t{8}) * granule;
  const std::size_t width = Scratch::rounded(dim_);
  const bool convert_queries = sizeof(T) != sizeof(float);
  const bool convert_values = convert_queries || dim_ % kernels().simd_width != 0;
  const auto rows = static_cast<std::size_t>(chunk);

  Scratch scratch(rows * width + Scratch::rounded(rows * dim_) + dim_ * block + block * width +
                  static_cast<std::size_t>(block_rows) * block +
                  Scratch::rounded(rows * sizeof(Running) / sizeof(float)));
  float* const sums = scratch.take(rows * width);
  float* const query_copy = scratch.take(rows * dim_);
  float* const keys_across = scratch.take(dim_ * block);
  float* const value_copy = scratch.take(block * width);
  float* const scores = scratch.take(static_cast<std::size_t>(block_rows) * block);
  auto* const running =
      reinterpret_cast<Running*>(scratch.take(rows * sizeof(Running) / sizeof(float)));
  std::fill_n(sums, rows * width, 0.0f);
  std::fill_n(value_copy, block * width, 0.0f);
  std::uninitialized_fill_n(running, rows, Running{});

  const T* const query_rows = queries(matrix) + first_row * r_.head_dim;
  const float* query = query_copy;
  if constexpr (sizeof(T) == sizeof(float)) {
    query = query_rows;
  } else {
    to_float32(query_rows, query_copy, rows * dim_);
  }
  Size last_key = 0;
  for (Size i = 0; i < chunk; ++i) last_key = std::max(last_key, visible(first_row + i));

  static constexpr Tap one_tap{0, 0};
  TapProduct scoring{}, weighing{};
  scoring.taps = weighing.taps = &one_tap;
  scoring.tap_count = weighing.tap_count = 1;
  scoring.input = keys_across;
  scoring.input_stride = block;
  scoring.channels = dim_;
  scoring.filter_stride = dim_;
  scoring.weight_stride = 1;
  scoring.output = scores;
  scoring.output_stride = block;
  weighing.filter_stride = block;
  weighing.weight_stride = 1;
  weighing.output_stride = width;
  weighing.positions = width;
  weighing.accumulate = true;

  for (Size key = 0; key < last_key; key += static_cast<Size>(block)) {
    const Size present = std::min(static_cast<Size>(block), last_key - key);
    const auto count = static_cast<std::size_t>(present);
    const T* const key_rows = keys(matrix) + key * r_.head_dim;
    const T* const value_rows = values(matrix) + key * r_.head_dim;
    row_kernels<T>().transpose(key_rows, count, dim_, dim_, keys_across, block);
    const std::size_t columns = Scratch::rounded(count);
    for (std::size_t j = 0; j < dim_; ++j) {
      std::fill(keys_across + j * block + count, keys_across + j * block + columns, 0.0f);
    }
    const float* value = value_copy;
    std::size_t value_stride = width;
    if (convert_values) {
      for (std::size_t i = 0; i < count; ++i) {
        to_float32(value_rows + i * dim_, value_copy + i * width, dim_);
      }
    } else if constexpr (sizeof(T) == sizeof(float)) {
      value = value_rows;
      value_stride = dim_;
      weighing.positions = dim_;
    }
    weighing.input = value;
    weighing.input_stride = value_stride;

    for (Size row = 0; row < chunk; row += block_rows) {
      const Size height = std::min(block_rows, chunk - row);
      Size seen[block_rows];
      Size most = 0, fewest = present;
      for (Size i = 0; i < height; ++i) {
        seen[i] = std::clamp<Size>(visible(first_row + row + i) - key, 0, present);
        most = std::max(most, seen[i]);
        fewest = std::min(fewest, seen[i]);
      }
      if (most == 0) continue;
      scoring.weights = query + static_cast<std::size_t>(row) * dim_;
      scoring.filters = static_cast<std::size_t>(height);
      scoring.positions = Scratch::rounded(static_cast<std::size_t>(most));
      kernels().linear.tap_product(scoring);
      for (Size i = 0; i < height; ++i) {
        if (seen[i] == 0) continue;
        const auto at = static_cast<std::size_t>(row + i);
        weigh(scores + static_cast<std::size_t>(i) * block, seen[i], running[at],
              sums + at * width);
      }
      // Rows that see as many keys go together; what one sees beyond its group it adds alone.
      const Size group = fewest == present ? height : group_rows;
      for (Size i = 0; i < height; i += group) {
        const Size members = std::min(group, height - i);
        const Size shared = *std::min_element(seen + i, seen + i + members);
        weighing.weights = scores + static_cast<std::size_t>(i) * block;
        weighing.output = sums + static_cast<std::size_t>(row + i) * width;
        weighing.filters = static_cast<std::size_t>(members);
        weighing.channels = static_cast<std::size_t>(shared);
        kernels().linear.tap_product(weighing);
        for (Size member = 0; member < members; ++member) {
          if (seen[i + member] == shared) continue;
          row_kernels<float>().add_weighted_rows(
              value + static_cast<std::size_t>(shared) * value_stride,
              static_cast<std::size_t>(seen[i + member] - shared), value_stride,
              scores + static_cast<std::size_t>(i + member) * block +
                  static_cast<std::size_t>(shared),
              dim_, sums + static_cast<std::size_t>(row + i + member) * width);
        }
      }
    }
  }
  T* const to = output(matrix) + first_row * r_.head_dim;
  for (std::size_t i = 0; i < rows; ++i) {
    write(sums + i * width, dim_, running[i].sum, to + i * dim_);
  }
}

}  // namespace

void CpuBackend::do_attention(const AttentionRequest& r) {
  r.dtype == DType::float16 ? Attention<Half>(r).run() : Attention<float>(r).run();
}

}  // namespace tilewright::cpu
