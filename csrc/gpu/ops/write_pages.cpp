#include "core/ops/write_pages.hpp"

#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

constexpr std::uint32_t lanes = 32;

}  // namespace

void GpuBackend::launch_write_pages(const WritePagesRequest& r) {
  constexpr std::string_view op = "write_pages";
  require(op, r.dtype);
  const bool scaled = r.page_dtype == DType::int8;
  if (!scaled) require(op, r.page_dtype);
  const Size all = r.heads + 2 * r.kv_heads, half = r.rotary_dim / 2;
  std::vector<Binding> bindings{
      bind(op, r.x, bytes_of(extent(r.x_rows, 1, r.tokens, all, r.head_dim), r.dtype)),
      bind(op, r.cache,
           bytes_of(extent(r.cache_rows, r.pages, r.page_size, 2 * r.kv_heads, r.head_dim),
                    r.page_dtype)),
      bind(op, r.slots, r.slots.bytes)};
  if (scaled) bindings.push_back(bind(op, r.scales, r.scales.bytes));
  if (r.rotates()) {
    bindings.push_back(bind(op, r.cos, r.cos.bytes));
    bindings.push_back(bind(op, r.sin, r.sin.bytes));
    bindings.push_back(bind(op, r.positions, r.positions.bytes));
  }
  const bool halves = r.pairing == RopePairing::halves;
  const Size first = r.writes_x() ? 0 : r.heads, of_token = all - first;
  const Size rows = r.tokens * of_token;
  const HeadRows &x = r.x_rows, &cache = r.cache_rows;
  const struct {
    std::uint32_t rows, of_token, first_head, heads, turned, both;
    std::uint32_t head_dim, half_dim, step, apart, table_rows;
    std::uint32_t slots, page_size, not_a_number;
    std::uint32_t x_start, x_token, x_head, c_start, c_page, c_place, c_head;
  } params{u32(rows),
           u32(of_token),
           u32(first),
           u32(r.heads),
           u32(r.rotates() ? r.heads + r.kv_heads : 0),
           u32(2 * r.kv_heads),
           u32(r.head_dim),
           u32(half),
           halves ? 1u : 2u,
           halves ? u32(half) : 1u,
           u32(r.table_rows),
           u32(r.pages * r.page_size),
           u32(r.page_size),
           0x7fc00000u,
           u32(x.start),
           u32(x.head),
           u32(x.seq),
           u32(cache.start),
           u32(cache.batch),
           u32(cache.head),
           u32(cache.seq)};
  const bool words = scaled && r.head_dim % 4 == 0 && in_fours(cache);
  const std::string pages = scaled ? "i8" : type_name(r.page_dtype);
  const std::uint32_t stored = scaled ? 2 : half_bit(r.page_dtype);
  const std::uint32_t variant =
      (((stored * 2 + (words ? 1 : 0)) * 2 + (r.rotates() ? 1 : 0)) * 2 + (r.writes_x() ? 1 : 0)) *
          2 +
      half_bit(r.dtype);
  run(KernelId::write_pages, variant, params, bindings,
      cover(static_cast<std::uint64_t>(rows), group_size / lanes), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["PAGES"] = pages;
        v["ROTATES"] = std::int64_t{r.rotates()};
        v["WRITES"] = std::int64_t{r.writes_x()};
        v["WORDS"] = std::int64_t{words};
      });
}

}  // namespace tilewright::gpu
