#pragma once

#include <limits>
#include <optional>

#include "core/call.hpp"
#include "core/head_rows.hpp"
#include "core/page_dtype.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

namespace tilewright {

struct WritePagesRequest {
  BufferRange x, cache, slots;
  BufferRange scales;               ///< of int8 alone
  BufferRange cos, sin, positions;  ///< each null, or none of them
  HeadRows x_rows;                  ///< head is the step from token to token, seq that of heads
  HeadRows cache_rows;              ///< batch is that of pages, head of places, seq of heads
  Size tokens, heads, kv_heads, head_dim, pages, page_size, table_rows, rotary_dim;
  RopePairing pairing;
  DType dtype, page_dtype;

  bool rotates() const { return static_cast<bool>(cos); }
  /// Whether queries are rotated where they lie.
  bool writes_x() const { return rotates() && heads != 0; }

  static void operands(auto& r, const auto& visit) {
    visit(r.x, r.writes_x() ? Access::update : Access::read);
    visit(r.cache, Access::update);
    visit(r.slots, Access::read);
    visit(r.scales, Access::update);
    visit(r.cos, Access::read);
    visit(r.sin, Access::read);
    visit(r.positions, Access::read);
  }
  static void head_rows(auto& r, const auto& visit) {
    visit(r.x, r.x_rows, r.dtype);
    visit(r.cache, r.cache_rows, r.page_dtype);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    be.write_pages(q.x[0], q.x[1], q.x[2], 1, 0, 1, 8, 1, 1, q.dtype);
  }
};

inline std::optional<WritePagesRequest> checked_write_pages(
    const Call& call, const MapOperand& x, const MapOperand& cache, Buffer slots, Size tokens,
    Size heads, Size kv_heads, Size head_dim, Size pages, Size page_size, DType dtype,
    std::optional<DType> page_dtype, std::optional<Buffer> page_scales, std::optional<Buffer> cos,
    std::optional<Buffer> sin, std::optional<Buffer> positions, Size table_rows,
    RopePairing pairing, std::optional<Size> rotary_dim) {
  call.not_negative("tokens", tokens);
  call.not_negative("heads", heads);
  call.positive("kv_heads", kv_heads);
  call.positive("head_dim", head_dim);
  call.positive("pages", pages);
  call.positive("page_size", page_size);
  call.float_dtype(dtype);
  call.not_negative("table_rows", table_rows);
  call.known("pairing", pairing);
  WritePagesRequest r{};
  r.page_dtype = check_page_dtype(call, page_dtype.value_or(dtype), dtype, page_scales.has_value());
  constexpr Size most = std::numeric_limits<std::int32_t>::max();
  if (call.mul(pages, page_size) > most) {
    call.invalid(text("pages ", pages, " of ", page_size,
                      " places are more than the int32 of slots can count"));
  }
  const auto together = [&](bool given, std::string_view name) {
    if (given != cos.has_value()) {
      call.invalid(given ? text(name, " needs cos, which is not given")
                         : text("cos needs ", name, ", which is not given"));
    }
  };
  together(sin.has_value(), "sin");
  together(positions.has_value(), "positions");
  const Size rotated = rotary_dim.value_or(head_dim);
  if (cos) {
    const std::string_view name = rotary_dim ? "rotary_dim" : "head_dim";
    call.positive(name, rotated);
    if (rotated % 2 != 0) {
      call.invalid(text(name, " is ", rotated, ", expected an even number"));
    }
    if (rotated > head_dim) {
      call.invalid(text("rotary_dim is ", rotated, ", expected at most head_dim ", head_dim));
    }
    if (table_rows > most) {
      call.invalid(
          text("table_rows is ", table_rows, ", more than the int32 of positions can count"));
    }
  } else if (rotary_dim || table_rows != 0) {
    call.invalid(text(rotary_dim ? "rotary_dim" : "table_rows", " needs cos, which is not given"));
  }
  const Size both = call.mul(2, kv_heads), all = call.add(heads, both);
  const Shape4 of_x{1, tokens, all, head_dim}, of_cache{pages, page_size, both, head_dim};
  r.x = check_rows(call, "x", x, of_x, without_batch, dtype,
                   cos && heads != 0 ? Access::write : Access::read, r.x_rows);
  r.cache = check_rows(call, "cache", cache, of_cache, all_dims, r.page_dtype, Access::write,
                       r.cache_rows);
  r.slots = call.buffer("slots", slots, tokens, DType::int32);
  if (page_scales) {
    r.scales = call.buffer("page_scales", *page_scales, call.product({pages, both, page_size}),
                           DType::float32);
  }
  if (cos) {
    const Size elements = call.mul(table_rows, rotated / 2);
    r.cos = call.buffer("cos", *cos, elements, dtype);
    r.sin = call.buffer("sin", *sin, elements, dtype);
    r.positions = call.buffer("positions", *positions, tokens, DType::int32);
  }
  const auto apart = [&](std::string_view name, const BufferRange& output) {
    call.apart(name, output, "slots", r.slots);
    call.apart(name, output, "cos", r.cos);
    call.apart(name, output, "sin", r.sin);
    call.apart(name, output, "positions", r.positions);
  };
  call.apart("cache", r.cache, "x", r.x);
  call.apart("page_scales", r.scales, "x", r.x);
  call.apart("page_scales", r.scales, "cache", r.cache);
  apart("cache", r.cache);
  apart("page_scales", r.scales);
  if (cos && heads != 0) apart("x", r.x);
  r.tokens = tokens;
  r.heads = heads;
  r.kv_heads = kv_heads;
  r.head_dim = head_dim;
  r.pages = pages;
  r.page_size = page_size;
  r.table_rows = table_rows;
  r.rotary_dim = rotated;
  r.pairing = pairing;
  r.dtype = dtype;
  if (tokens == 0) return std::nullopt;
  if (cos && table_rows == 0) call.invalid("table_rows is 0, expected 1 or more");
  return r;
}

}  // namespace tilewright
