#include <algorithm>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::size_t block = 128;      // keys
constexpr std::size_t grain = 1 << 15;  // elements of the keys

template <class T>
void score(const AttentionScoresRequest& r, MemoryPool& pool) {
  const auto seq = static_cast<std::size_t>(r.seq), dim = static_cast<std::size_t>(r.head_dim);
  const auto heads = static_cast<std::size_t>(r.heads);
  const auto kv_heads = static_cast<std::size_t>(r.kv_heads);
  const std::size_t sharing = heads / kv_heads;
  OpScratch all(pool, "attention_scores", heads * dim);
  Scratch scratch(all);
  float* const queries = scratch.take(heads * dim);
  for (std::size_t head = 0; head < heads; ++head) {
    to_float32(data<T>(r.q) + static_cast<Size>(head) * r.q_rows.head, queries + head * dim, dim);
  }

  const std::size_t blocks = (seq + block - 1) / block;
  const std::size_t group = grain / (block * dim) + 1;
  const std::size_t tasks = (kv_heads * blocks + group - 1) / group;
  parallel_tasks(tasks, [&](std::size_t task) {
    for (std::size_t i = task * group; i < std::min(kv_heads * blocks, (task + 1) * group); ++i) {
      const std::size_t kv_head = i / blocks, first = i % blocks * block;
      const std::size_t count = std::min(block, seq - first);
      const T* const keys = data<T>(r.keys) + static_cast<Size>(kv_head) * r.key_rows.head +
                            static_cast<Size>(first) * r.key_rows.seq;
      for (std::size_t head = kv_head * sharing; head < (kv_head + 1) * sharing; ++head) {
        float scores[block];
        row_kernels<T>().dot_rows(keys, count, static_cast<std::size_t>(r.key_rows.seq),
                                  queries + head * dim, dim, r.scale, scores);
        from_float32(scores,
                     data<T>(r.scores) + static_cast<Size>(head) * r.score_rows.head +
                         static_cast<Size>(first),
                     count);
      }
    }
  });
}

}  // namespace

void CpuBackend::do_attention_scores(const AttentionScoresRequest& r) {
  r.dtype == DType::float16 ? score<Half>(r, *memory_) : score<float>(r, *memory_);
}

}  // namespace tilewright::cpu
