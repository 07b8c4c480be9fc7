// Decoding with a KV cache: one token at a time, each attending to all before it. Four query heads
// share two key-value heads.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "arrays.hpp"

namespace tw = tilewright;

namespace {

constexpr tw::Size heads = 4, kv_heads = 2, dim = 8, tokens = 6, row = dim * sizeof(float);
const double scale = 1 / std::sqrt(static_cast<double>(dim));

/// [count, tokens, dim], made up.
std::vector<float> numbers(tw::Size count, double step) {
  std::vector<float> values(static_cast<std::size_t>(count * tokens * dim));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
  }
  return values;
}

}  // namespace

int main() {
  const auto be = tw::init_backend();
  const tw::Buffer q = upload(*be, numbers(heads, 0.7));
  const tw::Buffer k = upload(*be, numbers(kv_heads, 1.1));
  const tw::Buffer v = upload(*be, numbers(kv_heads, 1.3));

  // The whole sequence at once.
  const tw::Buffer whole = be->alloc(heads * tokens * row);
  be->attention(q, k, v, whole, 1, heads, tokens, tokens, dim, scale, /*causal=*/true, 0, kv_heads);
  const std::vector<float> expected = download(*be, whole);

  // The cache has room for every token; `causal` with `q_offset` keeps those to come out of sight.
  const std::vector<float> empty(static_cast<std::size_t>(kv_heads * tokens * dim), 0);
  const tw::Buffer k_cache = upload(*be, empty), v_cache = upload(*be, empty);
  const tw::Buffer query = be->alloc(heads * row), out = be->alloc(heads * row);
  float difference = 0;
  for (tw::Size token = 0; token < tokens; ++token) {
    for (tw::Size head = 0; head < kv_heads; ++head) {
      const tw::Size at = (head * tokens + token) * row;
      be->copy_dtod(k_cache, k, row, at, at);
      be->copy_dtod(v_cache, v, row, at, at);
    }
    for (tw::Size head = 0; head < heads; ++head) {
      be->copy_dtod(query, q, row, head * row, (head * tokens + token) * row);
    }
    be->attention(query, k_cache, v_cache, out, 1, heads, 1, tokens, dim, scale, /*causal=*/true,
                  /*q_offset=*/token, kv_heads);
    const std::vector<float> now = download(*be, out);
    std::printf("token %d: %7.4f %7.4f\n", static_cast<int>(token), now.front(), now.back());
    for (std::size_t i = 0; i < now.size(); ++i) {
      const std::size_t head = i / dim;
      const float all = expected[(head * tokens + static_cast<std::size_t>(token)) * dim + i % dim];
      difference = std::max(difference, std::abs(now[i] - all));
    }
  }
  std::printf("as the whole sequence at once: %s\n", difference < 1e-5f ? "yes" : "no");
}
