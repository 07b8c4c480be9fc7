#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/requests.hpp"
#include "cpu/memory.hpp"

namespace tilewright::cpu {

/// A sequence of a batch: where its queries and keys are, and which keys query i sees, from i + low
/// to i + high.
struct Sequence {
  Size index;
  Size first_query, queries;
  Size first_key, keys;
  Size low, high;
};

inline std::vector<Sequence> sequences_of(const AttentionRequest& r) {
  const AttentionOptions& options = r.options;
  const auto number = [](const BufferRange& numbers, Size i, Size most) {
    return std::clamp<Size>(data<std::int32_t>(numbers)[i], 0, most);
  };
  std::vector<Sequence> all;
  all.reserve(static_cast<std::size_t>(r.batch));
  for (Size i = 0; i < r.batch; ++i) {
    Sequence s{i, 0, r.seq_q, 0, r.seq_kv, options.low, options.high};
    if (options.q_starts) {
      s.first_query = number(options.q_starts, i, r.seq_q);
      s.queries = std::max<Size>(number(options.q_starts, i + 1, r.seq_q) - s.first_query, 0);
    }
    if (options.kv_starts) {
      s.first_key = number(options.kv_starts, i, r.seq_kv);
      s.keys = std::max<Size>(number(options.kv_starts, i + 1, r.seq_kv) - s.first_key, 0);
    }
    if (options.kv_lengths) s.keys = number(options.kv_lengths, i, r.seq_kv);
    if (options.at_end) {
      s.low += s.keys - s.queries;
      s.high += s.keys - s.queries;
    }
    all.push_back(s);
  }
  return all;
}

}  // namespace tilewright::cpu
