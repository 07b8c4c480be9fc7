// How attention for few queries is cut up.

#include <doctest/doctest.h>

#include "asked_device.hpp"
#include "gpu/ops/attention.hpp"

namespace tilewright::gpu {
namespace {

AttentionRequest decoding(Size heads, Size kv_heads, Size visible, Size capacity, Size dim = 128) {
  AttentionRequest r{};
  r.batch = 1;
  r.heads = heads;
  r.kv_heads = kv_heads;
  r.seq_q = 1;
  r.seq_kv = capacity;
  r.head_dim = dim;
  r.causal = true;
  r.q_offset = visible - 1;
  return r;
}

AttentionRows plan(const AttentionRequest& r) {
  return plan_attention_rows(r, std::uint64_t{1} << 40);
}

TEST_CASE("gpu attention: pieces follow what is visible, not what a cache could hold") {
  for (Size kv_heads : {1, 8, 32}) {
    for (Size visible : {1, 31, 33, 256, 4096, 100'000}) {
      CAPTURE(visible);
      const AttentionRows tight = plan(decoding(32, kv_heads, visible, visible));
      const AttentionRows roomy = plan(decoding(32, kv_heads, visible, 131'072));
      CHECK(roomy.visible == visible);
      CHECK(roomy.pieces == tight.pieces);
      CHECK(roomy.piece == tight.piece);
      CHECK(roomy.piece * roomy.pieces >= visible);
      CHECK(roomy.piece * (roomy.pieces - 1) < visible);
    }
  }
  AttentionRequest all = decoding(32, 8, 4096, 131'072);
  all.causal = false;
  CHECK(plan(all).visible == 131'072);
  CHECK(plan(decoding(2, 2, Size{1} << 40, 77)).visible == 77);
}

TEST_CASE("gpu attention: heads that share a kv head share a workgroup") {
  const auto rows_of = [](Size heads, Size kv_heads, Size dim = 128) {
    const AttentionRows p = plan(decoding(heads, kv_heads, 4096, 4096, dim));
    CHECK(p.sharing == heads / kv_heads);
    CHECK(p.chunks * p.rows >= p.sharing);
    CHECK((p.chunks - 1) * p.rows < p.sharing);
    CHECK(p.groups == kv_heads * p.chunks);
    return p.rows;
  };
  CHECK(rows_of(8, 8) == 1);
  CHECK(rows_of(8, 4) == 4);
  CHECK(rows_of(32, 8) == 4);
  CHECK(rows_of(28, 4) == 8);
  CHECK(rows_of(64, 8) == 8);
  CHECK(rows_of(64, 8, 256) == 4);
  CHECK(rows_of(48, 3) == 8);
}

TEST_CASE("gpu attention: a full GPU gets enough workgroups") {
  for (Size kv_heads : {1, 4, 8, 32}) {
    const AttentionRows p = plan(decoding(32, kv_heads, 4096, 131'072));
    CHECK(p.groups * p.pieces >= 64);
    CHECK(p.groups * p.pieces <= 1024);
  }
  CHECK(plan(decoding(32, 8, 4096, 131'072)).groups * plan(decoding(32, 8, 4096, 131'072)).pieces ==
        512);
}

TEST_CASE("gpu attention: little memory means fewer pieces") {
  const AttentionRequest r = decoding(32, 8, 4096, 4096);
  const AttentionRows all = plan(r);
  const std::uint64_t bytes = all.sums_bytes(r) + all.tops_bytes(r);
  const AttentionRows half = plan_attention_rows(r, bytes / 2);
  CHECK(half.pieces > 1);
  CHECK(half.pieces <= all.pieces / 2);
  CHECK(half.sums_bytes(r) + half.tops_bytes(r) <= bytes / 2);
  CHECK(plan_attention_rows(r, 0).pieces == 1);
}

TEST_CASE("gpu attention: what is launched is what was planned") {
  Opened opened;
  const auto run = [&](Size kv_heads, Size capacity) {
    const Buffer q = opened.backend.alloc(32 * 128 * 4), o = opened.backend.alloc(32 * 128 * 4);
    const Buffer k = opened.backend.alloc(kv_heads * capacity * 128 * 4);
    opened.backend.attention(q, k, k, o, 1, 32, 1, capacity, 128, 0.1f, true, 1023, kv_heads);
    for (Buffer buffer : {q, o, k}) opened.backend.free(buffer);
    const auto grid = opened.asked.grids.at(opened.asked.grids.size() - 2);
    return grid[0] * grid[1];
  };
  CHECK(run(8, 1024) == 8 * 16);
  CHECK(run(8, 16'384) == 8 * 16);
  CHECK(run(32, 1024) == 32 * 4);
  CHECK(run(32, 16'384) == 32 * 4);
}

}  // namespace
}  // namespace tilewright::gpu
