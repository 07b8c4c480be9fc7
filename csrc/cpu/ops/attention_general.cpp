#include "cpu/ops/attention_general.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cpu/thread_pool.hpp"

// What there is to do, few rows, and what scores go through.
namespace tilewright::cpu {

namespace general {

template <class T, class K>
Size GeneralAttention<T, K>::mask_place(const Sequence& s, Size kv_head, Size row) const {
  const HeadRows& rows = options_.mask_rows;
  return s.index * rows.batch + (kv_head * share_ + row % share_) * rows.head +
         row / share_ * rows.seq;
}

template <class T, class K>
void GeneralAttention<T, K>::mask_keys(Size at, Size count, float* added) const {
  const Size step = options_.mask_key;
  if (options_.mask_dtype == DType::boolean) {
    const auto* const mask = data<std::uint8_t>(options_.mask) + at;
    const auto fill = [&](Size each) {
      for (Size j = 0; j < count; ++j) {
        added[j] = std::bit_cast<float>(mask[j * each] != 0 ? 0u : least_bits);
      }
    };
    // As a constant, so that a loop over neighbours is a vector's.
    return step == 1 ? fill(1) : fill(step);
  }
  const T* const mask = data<T>(options_.mask) + at;
  if (step == 1) {
    to_float32(mask, added, static_cast<std::size_t>(count));
  } else {
    for (Size j = 0; j < count; ++j) to_float32(mask + j * step, added + j, 1);
  }
  constexpr std::uint32_t sizes = 0x7fffffffu, endless = 0x7f800000u;
  for (Size j = 0; j < count; ++j) {
    const auto power = std::bit_cast<std::uint32_t>(added[j] * log2_e);
    const auto before = std::bit_cast<std::uint32_t>(added[j]);
    // The largest numbers are no infinities to base 2 either: one less is the largest number.
    const std::uint32_t grown = (power & sizes) == endless ? ~0u : 0u;
    const std::uint32_t was_finite = (before & sizes) < endless ? ~0u : 0u;
    added[j] = std::bit_cast<float>(power + (grown & was_finite));
  }
}

template <class T, class K>
void GeneralAttention<T, K>::cap(float* scores, std::size_t n) const {
  const float by = options_.soft_cap, inverse = 1 / by;
  for (std::size_t i = 0; i < n; ++i) scores[i] *= inverse;
  kernels().float32.unary(UnaryOp::tanh, scores, scores, n, Store::cached);
  for (std::size_t i = 0; i < n; ++i) scores[i] *= by * log2_e;
}

template <class T, class K>
void GeneralAttention<T, K>::plan() {
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
    const Size chunks = few ? 1
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

template <class T, class K>
void GeneralAttention<T, K>::run() {
  plan();
  const bool few = records_ != 0, many = most_chunk_rows_ != 0;
  OpScratch all_records(pool_, "attention", std::max<std::size_t>(records_ * record_, 1));
  Scratch record_scratch(all_records);
  float* const records = record_scratch.take(records_ * record_);
  OpScratch all(pool_, "attention", many ? chunk_floats(most_chunk_rows_) : 1,
                parallel_ && many ? tasks_.size() : 1);
  OpScratch wide(pool_, "attention", few ? wide_floats() : 1,
                 parallel_ && few && has_scales ? tasks_.size() : 1);
  const auto run_task = [&](std::size_t i) {
    const Task& task = tasks_[i];
    if (task.parts == 0) return run_chunk(task, all);
    run_few(task, records, wide);
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
template <class T, class K>
void GeneralAttention<T, K>::run_few(const Task& task, float* records, OpScratch& wide) const {
  Scratch scratch(wide);
  float* const wide_rows = scratch.take(wide_floats());
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
    const Row* keys = nullptr;
    const Row* values = nullptr;
    Size key_step = r_.k_rows.seq, value_step = r_.v_rows.seq;
    if constexpr (!has_scales) {
      keys = key_row(r_.k, r_.k_rows, s, task.kv_head, key);
      values = key_row(r_.v, r_.v_rows, s, task.kv_head, key);
    } else if (key_row(r_.k, r_.k_rows, s, task.kv_head, key) != nullptr) {
      key_step = r_.head_dim;
      value_step = r_.value_dim;
      widen(false, s, task.kv_head, key, count, dim_, dim_, wide_rows);
      widen(true, s, task.kv_head, key, count, value_dim_, value_dim_, wide_rows + wide_keys());
      keys = wide_rows;
      values = wide_rows + wide_keys();
    }
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
        row_kernels<Row>().dot_rows(keys + from * key_step, n, static_cast<std::size_t>(key_step),
                                    sums + width_, dim_, scale, scores);
      }
      if (options_.soft_cap != 0) cap(scores, n);
      if (masked) {
        float added[few_block];
        const Size place = mask_place(s, task.kv_head, static_cast<Size>(i));
        mask_keys(place + (key + from) * options_.mask_key, here, added);
        for (std::size_t j = 0; j < n; ++j) scores[j] = masked_score(scores[j], added[j]);
      }
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
        row_kernels<Row>().add_weighted_rows(
            values + (from + static_cast<Size>(first)) * value_step, number,
            static_cast<std::size_t>(value_step), scores + first, value_dim_, sums);
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

template <class T, class K>
void GeneralAttention<T, K>::join_few(const Task& task, float* records) const {
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

template class GeneralAttention<float>;
template class GeneralAttention<Half>;
template class GeneralAttention<float, Half>;
template class GeneralAttention<float, std::int8_t>;
template class GeneralAttention<Half, std::int8_t>;

}  // namespace general

void general_attention(const AttentionRequest& r, MemoryPool& pool) {
  const auto run = [&]<class T>(T) {
    if (r.options.page_dtype == DType::int8) {
      general::GeneralAttention<T, std::int8_t>(r, pool).run();
    } else if (r.options.page_dtype == DType::float16) {
      general::GeneralAttention<T, Half>(r, pool).run();
    } else {
      general::GeneralAttention<T>(r, pool).run();
    }
  };
  with_element_type(r.dtype, run);
}

}  // namespace tilewright::cpu
