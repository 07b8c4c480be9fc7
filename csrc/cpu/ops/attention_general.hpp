#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/requests.hpp"
#include "cpu/convert.hpp"
#include "cpu/elements.hpp"
#include "cpu/memory.hpp"
#include "cpu/ops/sequences.hpp"
#include "cpu/scratch.hpp"

// The softmax of attention.cpp over keys that masks, caps, windows, lengths and pages choose.
//
// The queries of all heads that share a kv head go together, those of one place behind each other,
// so that rows that go together see nearly the same keys.
namespace tilewright::cpu {

/// Attention with any of its options.
void general_attention(const AttentionRequest& request, MemoryPool& pool);

namespace general {

inline constexpr float log2_e = 1.44269504f;
inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr Size parallel_threshold = 1 << 16;
/// Rows of which a vector is not worth its while.
inline constexpr Size few_rows = 8;
inline constexpr Size panel = most_panel_columns, most_chunk_panels = 4;
inline constexpr Size few_block = 128, fewest_keys = 256;
inline constexpr std::size_t least_block_keys = 32, most_block_keys = 512;

inline constexpr std::uint32_t least_bits = 0xff800000u;  // -infinity

/// A score with what a mask adds to it: -infinity hides it, whatever it is. By bits, without a
/// branch.
inline float masked_score(float score, float added) {
  const auto bits = std::bit_cast<std::uint32_t>(added);
  const std::uint32_t hidden = bits == least_bits ? ~0u : 0u;
  const auto sum = std::bit_cast<std::uint32_t>(score + added);
  return std::bit_cast<float>((bits & hidden) | (sum & ~hidden));
}

inline Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

/// Some rows of the queries of a sequence that see one kv head, and for few rows a part of its
/// keys.
struct Task {
  Size sequence, kv_head, first, rows;
  Size part, parts;
  std::size_t record;  ///< where what is known of few rows goes, in records
};

/// Of q and o stored as T, keys and values as K.
template <class T, class K = T>
class GeneralAttention {
 public:
  static constexpr bool has_scales = std::is_same_v<K, std::int8_t>;
  /// As kernels of rows read them.
  using Row = std::conditional_t<has_scales, float, K>;

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
  const K* key_row(const BufferRange& range, const HeadRows& rows, const Sequence& s, Size kv_head,
                   Size key) const {
    const K* const base = data<K>(range) + kv_head * rows.head;
    if (!options_.page_table) {
      const Size batch = options_.kv_starts ? 0 : s.index;
      return base + batch * rows.batch + (s.first_key + key) * rows.seq;
    }
    const Size page = page_of(s, key);
    if (page < 0 || page >= options_.pages) return nullptr;
    return base + page * rows.batch + key % options_.page_size * rows.seq;
  }
  Size page_of(const Sequence& s, Size key) const {
    const Size slots = r_.seq_kv / options_.page_size;
    return data<std::int32_t>(options_.page_table)[s.index * slots + key / options_.page_size];
  }
  /// Rows of k or of v of one page from a key on, `stride` apart, whatever they are stored as.
  void widen(bool values, const Sequence& s, Size kv_head, Size key, Size count, std::size_t n,
             std::size_t stride, float* to) const {
    const HeadRows& rows = values ? r_.v_rows : r_.k_rows;
    const K* const from = key_row(values ? r_.v : r_.k, rows, s, kv_head, key);
    const float* scales = nullptr;
    if constexpr (has_scales) {
      const Size which = values ? r_.kv_heads : 0;
      if (from != nullptr) {
        scales = data<float>(options_.page_scales) +
                 (page_of(s, key) * 2 * r_.kv_heads + which + kv_head) * options_.page_size +
                 key % options_.page_size;
      }
    }
    for (Size j = 0; j < count; ++j) {
      float* const row = to + static_cast<std::size_t>(j) * stride;
      if (from == nullptr) {
        std::fill_n(row, n, std::numeric_limits<float>::quiet_NaN());
      } else if constexpr (has_scales) {
        kernels().widen_bytes(from + j * rows.seq, n, scales[j], row);
      } else {
        to_float32(from + j * rows.seq, row, n);
      }
    }
  }
  /// Keys from one on that lie evenly, up to `most`.
  Size even_keys(Size key, Size most) const {
    return options_.page_table ? std::min(most, options_.page_size - key % options_.page_size)
                               : most;
  }

  /// Where the mask of a row starts.
  Size mask_place(const Sequence& s, Size kv_head, Size row) const;
  /// What the mask adds to scores of some keys from a place on, to base 2.
  void mask_keys(Size at, Size count, float* added) const;
  /// Scores to base 2 from those that are not.
  void cap(float* scores, std::size_t n) const;

  void write(const float* sums, float sum, T* to) const {
    if (sum == 0) {
      std::fill_n(to, value_dim_, T{});
    } else {
      kernels_for<T>().scale_from(sums, value_dim_, 1 / sum, to, Store::cached);
    }
  }

  void plan();
  void run_few(const Task& task, float* records, OpScratch& wide) const;
  /// Floats of keys and of values that few rows of int8 become.
  std::size_t wide_keys() const {
    return static_cast<std::size_t>(few_block) * Scratch::rounded(dim_);
  }
  std::size_t wide_floats() const {
    return has_scales ? wide_keys() + static_cast<std::size_t>(few_block) * width_ : 1;
  }
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
  void mask_panel(const Sequence& s, Size kv_head, const Panel& rows, Size first_key, Size count,
                  float* scores) const;
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

}  // namespace general

}  // namespace tilewright::cpu
