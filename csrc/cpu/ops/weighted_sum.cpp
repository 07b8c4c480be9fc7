#include <algorithm>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Rows summed before their sum joins the total, so that the error does not grow with their number.
constexpr std::size_t block = 256;
constexpr std::size_t grain = 1 << 15;  // elements

template <class T>
void sum_weighted(const WeightedSumRequest& r, MemoryPool& pool) {
  const auto count = static_cast<std::size_t>(r.count), dim = static_cast<std::size_t>(r.dim);
  const auto heads = static_cast<std::size_t>(r.heads);
  const auto kv_heads = static_cast<std::size_t>(r.kv_heads);
  const std::size_t sharing = heads / kv_heads;
  const std::size_t blocks = std::max<std::size_t>(1, (count + block - 1) / block);
  const std::size_t wanted = (2 * thread_count() + kv_heads - 1) / kv_heads;
  const std::size_t parts =
      std::clamp<std::size_t>(std::min(wanted, count * dim / grain), 1, blocks);
  const std::size_t part = (blocks + parts - 1) / parts * block;

  // For each part and head: the total, and the sum of one block.
  const std::size_t width = Scratch::rounded(dim);
  OpScratch all(pool, "weighted_sum", 2 * parts * heads * width);
  Scratch scratch(all);
  float* const totals = scratch.take(parts * heads * width);
  float* const sums = scratch.take(parts * heads * width);
  std::fill_n(totals, parts * heads * width, 0.0f);

  const auto run = [&](std::size_t task) {
    const std::size_t kv_head = task / parts, p = task % parts;
    for (std::size_t first = p * part; first < std::min(count, (p + 1) * part); first += block) {
      const std::size_t rows = std::min(block, count - first);
      for (std::size_t head = kv_head * sharing; head < (kv_head + 1) * sharing; ++head) {
        float weights[block];
        to_float32(data<T>(r.weights) + static_cast<Size>(head) * r.weight_rows.head +
                       static_cast<Size>(first),
                   weights, rows);
        float* const sum = sums + (p * heads + head) * width;
        float* const total = totals + (p * heads + head) * width;
        std::fill_n(sum, dim, 0.0f);
        row_kernels<T>().add_weighted_rows(
            data<T>(r.rows) + static_cast<Size>(kv_head) * r.row_rows.head +
                static_cast<Size>(first) * r.row_rows.seq,
            rows, static_cast<std::size_t>(r.row_rows.seq), weights, dim, sum);
        for (std::size_t j = 0; j < dim; ++j) total[j] += sum[j];
      }
    }
  };
  if (kv_heads * count * dim > 2 * grain) {
    parallel_tasks(kv_heads * parts, run);
  } else {
    for (std::size_t task = 0; task < kv_heads * parts; ++task) run(task);
  }

  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t p = 1; p < parts; ++p) {
      const float* const more = totals + (p * heads + head) * width;
      for (std::size_t j = 0; j < dim; ++j) totals[head * width + j] += more[j];
    }
    from_float32(totals + head * width,
                 data<T>(r.output) + static_cast<Size>(head) * r.output_rows.head, dim);
  }
}

}  // namespace

void CpuBackend::do_weighted_sum(const WeightedSumRequest& r) {
  r.dtype == DType::float16 ? sum_weighted<Half>(r, *memory_) : sum_weighted<float>(r, *memory_);
}

}  // namespace tilewright::cpu
