#include "core/ops/rope.hpp"

#include <algorithm>

#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/not_a_number.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// The row of the table for a place of a sequence; outside of it, it may be any number.
Size table_row(const RopeRequest& r, Size sequence, Size place) {
  if (!r.positions) return r.position + place;
  const auto* const positions = data<std::int32_t>(r.positions);
  return r.of_places ? positions[sequence * r.seq + place] : positions[sequence] + place;
}

}  // namespace

void CpuBackend::do_rope(const RopeRequest& r) {
  with_element_type(r.dtype, [&]<class T>(T) {
    const Size half = r.rotary_dim / 2;
    const auto dim = static_cast<std::size_t>(r.head_dim);
    const auto rotated = static_cast<std::size_t>(r.rotary_dim);
    const std::size_t copied = r.in_place() ? 0 : dim - rotated;
    const float direction = r.inverse ? -1 : 1;
    const auto rotate = r.pairing == RopePairing::halves ? kernels_for<T>().rotate
                                                         : kernels_for<T>().rotate_neighbours;
    const auto rows = static_cast<std::size_t>(r.batch * r.heads * r.seq);
    parallel_for(rows, element_grain / dim + 1, [&](std::size_t begin, std::size_t end) {
      const auto first = static_cast<Size>(begin);
      Size place = first % r.seq, head = first / r.seq % r.heads;
      Size sequence = first / r.seq / r.heads;
      for (std::size_t i = begin; i < end; ++i) {
        const auto at = [&](const HeadRows& rows) {
          return sequence * rows.batch + head * rows.head + place * rows.seq;
        };
        const T* const x = data<T>(r.x) + at(r.x_rows);
        T* const output = data<T>(r.output) + at(r.output_rows);
        const Size angles = table_row(r, sequence, place);
        if (angles < 0 || angles >= r.table_rows) {
          std::fill_n(output, rotated, not_a_number<T>(r.dtype));
        } else {
          rotate(x, data<T>(r.cos) + angles * half, data<T>(r.sin) + angles * half,
                 static_cast<std::size_t>(half), direction, output);
        }
        std::copy_n(x + rotated, copied, output + rotated);
        if (++place != r.seq) continue;
        place = 0;
        if (++head != r.heads) continue;
        head = 0;
        ++sequence;
      }
    });
  });
}

}  // namespace tilewright::cpu
