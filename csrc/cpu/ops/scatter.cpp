#include <cstring>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/ops/row_type.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// The part of all rows that lies in [first, first + width) and in output rows [low, high). Goes
/// through the indices in order, so that the last of equal ones counts.
template <class T>
void scatter_rows(const ScatterRequest& r, Size low, Size high, std::size_t first,
                  std::size_t width) {
  const auto row_size = static_cast<std::size_t>(r.row_size);
  const auto count = static_cast<std::size_t>(r.count);
  const T* source = data<T>(r.source) + first;
  T* output = data<T>(r.output) + first;
  const auto* indices = data<std::int32_t>(r.indices);
  for (std::size_t i = 0; i < count; ++i) {
    const Size index = indices[i];
    if (index < low || index >= high) continue;
    T* to = output + static_cast<std::size_t>(index) * row_size;
    if (width == 1) {
      *to = source[i * row_size];
    } else {
      std::memcpy(to, source + i * row_size, width * sizeof(T));
    }
  }
}

}  // namespace

void CpuBackend::do_scatter(const ScatterRequest& r) {
  with_rows_of(r.dtype, [&]<class T>(T) {
    const auto rows = static_cast<std::size_t>(r.output_rows);
    const auto row_size = static_cast<std::size_t>(r.row_size);
    const auto count = static_cast<std::size_t>(r.count);
    // Threads share no output row, or no column of any: every one sees all the indices.
    constexpr std::size_t enough_columns = 256;
    const std::size_t threads = thread_count();
    if (count * row_size < 2 * element_grain || threads == 1) {
      scatter_rows<T>(r, 0, r.output_rows, 0, row_size);
    } else if (row_size >= enough_columns * threads) {
      parallel_for(row_size, enough_columns, [&](std::size_t begin, std::size_t end) {
        scatter_rows<T>(r, 0, r.output_rows, begin, end - begin);
      });
    } else {
      parallel_for(rows, (rows + threads - 1) / threads, [&](std::size_t begin, std::size_t end) {
        scatter_rows<T>(r, static_cast<Size>(begin), static_cast<Size>(end), 0, row_size);
      });
    }
  });
}

}  // namespace tilewright::cpu
