#include "core/ops/cross_entropy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "cpu/backend.hpp"
#include "cpu/ops/class_lines.hpp"
#include "cpu/scratch.hpp"

namespace tilewright::cpu {

namespace {

template <class T>
class Losses {
 public:
  using F = Computed<T>;

  explicit Losses(const CrossEntropyRequest& r) : rows_("cross_entropy", r) {}

  void run(const CrossEntropyRequest& r, MemoryPool& pool) const {
    const double total = rows_.targets.total(rows_.weights);
    T* const losses = data<T>(r.losses);
    const std::size_t of_sums = r.is_joined ? 2 * rows_.units : 0;
    OpScratch joined(pool, "cross_entropy", of_sums);
    OpScratch room(pool, "cross_entropy", rows_.room(), rows_.units);
    Scratch sums_room(joined);
    auto* const sums = reinterpret_cast<double*>(sums_room.take(of_sums));
    const auto one = [&](std::size_t i) {
      F made[ClassRows<T>::widest];
      const auto unit = rows_.unit(i);
      Scratch scratch(room);
      lose(unit, scratch.take(rows_.room()), made);
      if (!r.is_joined) return write_row(made, losses + unit.first, unit.count);
      double sum = 0;
      for (std::size_t j = 0; j < unit.count; ++j) sum += static_cast<double>(made[j]);
      sums[i] = sum;
    };
    for_rows(rows_.units, rows_.width * rows_.classes, one);
    if (!r.is_joined) return;
    double sum = 0;
    for (std::size_t i = 0; i < rows_.units; ++i) sum += sums[i];
    const F result = static_cast<F>(r.is_mean ? sum / total : sum);
    write_row(&result, losses, 1);
  }

 private:
  using Unit = typename ClassRows<T>::Unit;
  using S = Line<T>;

  void lose(const Unit& unit, float* scratch, F* made) const {
    const std::size_t n = rows_.classes;
    const UnitLines<S> lines = lines_of(rows_, unit, scratch);
    F largest[ClassRows<T>::widest], logs[ClassRows<T>::widest];
    double sums[ClassRows<T>::widest], off[ClassRows<T>::widest];
    find_sums(lines, unit.count, n, largest, sums);
    take_logs(sums, unit.count, logs);
    if (rows_.smoothing != 0) find_off(lines, unit.count, largest, off);
    for (std::size_t j = 0; j < unit.count; ++j) {
      const Size target = rows_.targets.of(unit.first + j);
      if (target == ClassTargets::none) {
        made[j] = 0;
        continue;
      }
      const F away = (largest[j] - score_of(lines, j, n, target)) + logs[j];
      made[j] = rows_.weight_of(target) * away;
      if (rows_.smoothing == 0) continue;
      const double spread = off[j] + rows_.mass * static_cast<double>(logs[j]);
      made[j] = static_cast<F>(static_cast<double>(made[j]) * (1 - rows_.smoothing) +
                               spread * rows_.share);
    }
  }

  static void take_logs(const double* sums, std::size_t count, F* logs) {
    if constexpr (std::is_same_v<F, double>) {
      for (std::size_t j = 0; j < count; ++j) logs[j] = std::log(sums[j]);
    } else if (count == 1) {
      logs[0] = static_cast<float>(std::log(sums[0]));
    } else {
      for (std::size_t j = 0; j < count; ++j) logs[j] = static_cast<float>(sums[j]);
      kernels().float32.unary(UnaryOp::log, logs, logs, count, Store::cached);
    }
  }

  /// The sums over classes of their weights times what scores are below the largest.
  void find_off(const UnitLines<S>& lines, std::size_t count, const F* largest, double* off) const {
    const std::size_t n = rows_.classes;
    if (!lines.by_columns) {
      for (std::size_t j = 0; j < count; ++j) {
        off[j] = sum_off(lines.x + j * n, n, largest[j], rows_.weights);
      }
      return;
    }
    F read[ClassRows<T>::widest];
    std::fill_n(off, count, 0.0);
    for (std::size_t c = 0; c < n; ++c) {
      read_row(lines.x + c * lines.step, read, count);
      const F weight = rows_.weight_of(static_cast<Size>(c));
      for (std::size_t j = 0; j < count; ++j) {
        off[j] += static_cast<double>(weight * (largest[j] - read[j]));
      }
    }
  }

  const ClassRows<T> rows_;
};

}  // namespace

void CpuBackend::do_cross_entropy(const CrossEntropyRequest& r) {
  with_any_float(r.dtype, [&]<class T>(T) { Losses<T>(r).run(r, *memory_); });
}

}  // namespace tilewright::cpu
