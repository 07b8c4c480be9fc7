#include "core/ops/write_pages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/elements.hpp"
#include "cpu/not_a_number.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// The scale of a row of int8, and its elements.
float narrow_row(const float* from, std::size_t n, std::int8_t* to) {
  constexpr float least = 1e-30f, most = 127;
  const float largest = kernels().largest_size(from, n);
  if (!(largest >= least && largest <= std::numeric_limits<float>::max())) {
    std::fill_n(to, n, std::int8_t{0});
    return largest < least ? 0 : std::numeric_limits<float>::quiet_NaN();
  }
  kernels().narrow_to_bytes(from, n, most / largest, to);
  return largest * (1 / most);
}

template <class T>
class Rows {
 public:
  explicit Rows(const WritePagesRequest& r)
      : r_(r),
        dim_(static_cast<std::size_t>(r.head_dim)),
        rotated_(static_cast<std::size_t>(r.rotary_dim)),
        half_(rotated_ / 2) {}

  /// Floats that a row is worked on in.
  std::size_t scratch() const { return 2 * Scratch::rounded(dim_); }

  /// One row of x: queries where they lie, others to their page.
  void write(Size token, Size head, float* work) const {
    T* const x = data<T>(r_.x) + token * r_.x_rows.head + head * r_.x_rows.seq;
    const bool turns = r_.rotates() && head < r_.heads + r_.kv_heads;
    if (head < r_.heads) {
      if (turns) turn(token, x, x);
      return;
    }
    const Size slot = data<std::int32_t>(r_.slots)[token];
    if (slot < 0 || slot >= r_.pages * r_.page_size) return;
    const Size page = slot / r_.page_size, place = slot % r_.page_size, own = head - r_.heads;
    const Size to =
        page * r_.cache_rows.batch + place * r_.cache_rows.head + own * r_.cache_rows.seq;
    if (r_.page_dtype == r_.dtype) {
      T* const row = data<T>(r_.cache) + to;
      if (turns) {
        turn(token, x, row);
        std::copy_n(x + rotated_, dim_ - rotated_, row + rotated_);
      } else {
        std::copy_n(x, dim_, row);
      }
      return;
    }
    to_float32(x, work, dim_);
    if (turns) turn_wide(token, work, work + Scratch::rounded(dim_));
    if (r_.page_dtype == DType::float16) {
      from_float32(work, data<Half>(r_.cache) + to, dim_);
    } else {
      data<float>(r_.scales)[(page * 2 * r_.kv_heads + own) * r_.page_size + place] =
          narrow_row(work, dim_, data<std::int8_t>(r_.cache) + to);
    }
  }

 private:
  /// The row of the tables, or -1.
  Size table_row(Size token) const {
    const Size row = data<std::int32_t>(r_.positions)[token];
    return row < r_.table_rows ? std::max<Size>(row, -1) : -1;
  }

  void turn(Size token, const T* x, T* to) const {
    const Size row = table_row(token);
    if (row < 0) {
      std::fill_n(to, rotated_, not_a_number<T>(r_.dtype));
      return;
    }
    const auto rotate = r_.pairing == RopePairing::halves ? kernels_for<T>().rotate
                                                          : kernels_for<T>().rotate_neighbours;
    const Size at = row * static_cast<Size>(half_);
    rotate(x, data<T>(r_.cos) + at, data<T>(r_.sin) + at, half_, 1, to);
  }

  /// A row of float32 in place, with room for its angles.
  void turn_wide(Size token, float* x, float* angles) const {
    const Size row = table_row(token);
    if (row < 0) {
      std::fill_n(x, rotated_, std::numeric_limits<float>::quiet_NaN());
      return;
    }
    const auto rotate = r_.pairing == RopePairing::halves ? kernels_for<float>().rotate
                                                          : kernels_for<float>().rotate_neighbours;
    const Size at = row * static_cast<Size>(half_);
    to_float32(data<T>(r_.cos) + at, angles, half_);
    to_float32(data<T>(r_.sin) + at, angles + half_, half_);
    rotate(x, angles, angles + half_, half_, 1, x);
  }

  const WritePagesRequest& r_;
  std::size_t dim_, rotated_, half_;
};

}  // namespace

void CpuBackend::do_write_pages(const WritePagesRequest& r) {
  with_element_type(r.dtype, [&]<class T>(T) {
    const Rows<T> rows(r);
    const Size first = r.writes_x() ? 0 : r.heads;
    const Size heads = r.heads + 2 * r.kv_heads - first;
    const auto count = static_cast<std::size_t>(r.tokens * heads);
    const std::size_t grain = element_grain / static_cast<std::size_t>(r.head_dim) + 1;
    OpScratch all(*memory_, "write_pages", rows.scratch(), thread_count());
    parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
      Scratch scratch(all);
      float* const work = scratch.take(rows.scratch());
      for (std::size_t i = begin; i < end; ++i) {
        const auto at = static_cast<Size>(i);
        rows.write(at / heads, first + at % heads, work);
      }
    });
  });
}

}  // namespace tilewright::cpu
