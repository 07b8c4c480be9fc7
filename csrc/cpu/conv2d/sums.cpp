#include <algorithm>

#include "core/convolution.hpp"
#include "cpu/backend.hpp"
#include "cpu/conv2d/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

class MeetingSums {
 public:
  MeetingSums(const ConvSums& sums, const float* a, const float* b, const float* bias)
      : s_(sums), a_(a), b_(b), bias_(bias) {}

  template <class T>
  void row(Size index, T* result) const {
    const Size plane = index / s_.height();
    const Meeting& row = s_.rows.of[static_cast<std::size_t>(index % s_.height())];
    const double start = bias_ != nullptr ? bias_[plane % s_.minors] : 0;
    constexpr Size step = 64;
    float values[step];
    for (Size first = 0; first < s_.width(); first += step) {
      const Size count = std::min(step, s_.width() - first);
      for (Size i = 0; i < count; ++i) {
        const Meeting& column = s_.columns.of[static_cast<std::size_t>(first + i)];
        const bool met = row.count != 0 && column.count != 0;
        values[i] = static_cast<float>(met ? start + sum(plane, row, column) : start);
      }
      const T* const addend =
          s_.addend != nullptr ? data<T>(s_.addend) + index * s_.width() + first : nullptr;
      end_sums(addend, s_.activation, s_.slope, values, count);
      from_float32(values, result + index * s_.width() + first, static_cast<std::size_t>(count));
    }
  }

 private:
  double sum(Size plane, const Meeting& row, const Meeting& column) const {
    const float* a = plane_of(s_.a, a_, plane) + row.a * s_.a.width + column.a;
    const float* b = plane_of(s_.b, b_, plane) + row.b * s_.b.width + column.b;
    double all = 0;
    for (Size deep = 0; deep < s_.depth; ++deep) {
      for (Size y = 0; y < row.count; ++y) {
        const float* const of_a = a + y * s_.rows.a_step * s_.a.width;
        const float* const of_b = b + y * s_.rows.b_step * s_.b.width;
        for (Size x = 0; x < column.count; ++x) {
          all += static_cast<double>(of_a[x * s_.columns.a_step]) * of_b[x * s_.columns.b_step];
        }
      }
      a += s_.a.step * s_.a.height * s_.a.width;
      b += s_.b.step * s_.b.height * s_.b.width;
    }
    return all;
  }

  const float* plane_of(const ConvSums::Operand& operand, const float* data, Size plane) const {
    return data + s_.first_plane(operand, plane) * operand.height * operand.width;
  }

  const ConvSums& s_;
  const float *a_, *b_, *bias_;
};

}  // namespace

void sum_meetings(std::string_view op, const ConvSums& s, MemoryPool& pool) {
  AllocationRef a_copy, b_copy, bias_copy;
  const float* const a = as_float32(op, s.a.buffer, s.a.elements(), s.dtype, pool, a_copy);
  const float* const b = as_float32(op, s.b.buffer, s.b.elements(), s.dtype, pool, b_copy);
  const float* const bias =
      s.bias != nullptr ? as_float32(op, s.bias, s.minors, s.dtype, pool, bias_copy) : nullptr;
  const MeetingSums sums(s, a, b, bias);
  // Rows differ in what they take: several tasks a thread.
  const Size rows = s.planes * s.height();
  const Size group = rows / (16 * static_cast<Size>(thread_count())) + 1;
  parallel_tasks(static_cast<std::size_t>((rows + group - 1) / group), [&](std::size_t task) {
    const Size first = static_cast<Size>(task) * group;
    for (Size row = first; row < std::min(rows, first + group); ++row) {
      if (s.dtype == DType::float16) {
        sums.row(row, data<Half>(s.result));
      } else {
        sums.row(row, data<float>(s.result));
      }
    }
  });
}

}  // namespace tilewright::cpu
