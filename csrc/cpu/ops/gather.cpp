#include <cstring>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/not_a_number.hpp"
#include "cpu/ops/row_type.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

template <class T>
void gather_rows(const GatherRequest& r, std::size_t begin, std::size_t end, std::size_t first,
                 std::size_t width) {
  const T other = not_a_number<T>(r.dtype);
  const auto row_size = static_cast<std::size_t>(r.row_size);
  const T* table = data<T>(r.table) + first;
  T* output = data<T>(r.output) + first;
  const auto* indices = data<std::int32_t>(r.indices);
  for (std::size_t i = begin; i < end; ++i) {
    const Size index = indices[i];
    T* to = output + i * row_size;
    if (index < 0 || index >= r.table_rows) {
      for (std::size_t j = 0; j < width; ++j) to[j] = other;
    } else if (width == 1) {
      *to = table[static_cast<std::size_t>(index) * row_size];
    } else {
      std::memcpy(to, table + static_cast<std::size_t>(index) * row_size, width * sizeof(T));
    }
  }
}

}  // namespace

void CpuBackend::do_gather(const GatherRequest& r) {
  with_rows_of(r.dtype, [&]<class T>(T) {
    const auto count = static_cast<std::size_t>(r.count);
    const auto row_size = static_cast<std::size_t>(r.row_size);
    if (count >= 4 * thread_count() || row_size < element_grain) {
      parallel_for(count, element_grain / row_size + 1, [&](std::size_t begin, std::size_t end) {
        gather_rows<T>(r, begin, end, 0, row_size);
      });
    } else {
      parallel_for(row_size, element_grain / count + 1, [&](std::size_t begin, std::size_t end) {
        gather_rows<T>(r, 0, count, begin, end - begin);
      });
    }
  });
}

}  // namespace tilewright::cpu
