#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/ops/sparse_matmul.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/sparse_table.hpp"
#include "cpu/kernels/table.hpp"
#include "cpu/memory.hpp"
#include "cpu/ops/sparse_shares.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

/// The kernels for blocks by a vector, where there are some: of float and double.
template <class T>
const BlockKernel<T>* block_kernels(std::size_t columns) {
  const auto found = std::ranges::find(block_widths, columns);
  if (found == std::end(block_widths)) return nullptr;
  const auto width = static_cast<std::size_t>(found - std::begin(block_widths));
  if constexpr (std::is_same_v<T, float>) {
    return sparse_table().float32.of[width];
  } else {
    return sparse_table().float64.of[width];
  }
}

/// One product of a matrix of dense blocks. The sums of a row of blocks are those of its lines one
/// after another, n each.
template <class T>
class BlockProduct {
 public:
  using Sum = typename Element<T>::Sum;
  using Real = typename Element<T>::Real;
  static constexpr bool is_half = std::is_same_v<T, Half>;
  static constexpr bool has_kernels = std::is_same_v<T, float> || std::is_same_v<T, double>;

  explicit BlockProduct(const SparseMatmulRequest& r)
      : rows_(static_cast<std::size_t>(r.rows)),
        nnz_(static_cast<std::size_t>(r.nnz)),
        cols_(static_cast<std::size_t>(r.cols)),
        n_(static_cast<std::size_t>(r.n)),
        ldx_(static_cast<std::size_t>(r.ldx)),
        ldy_(static_cast<std::size_t>(r.ldy)),
        lines_(static_cast<std::size_t>(r.block_rows)),
        width_(static_cast<std::size_t>(r.block_cols)),
        alpha_(static_cast<Real>(r.alpha)),
        beta_(static_cast<Real>(r.beta)),
        offsets_(data<std::uint32_t>(r.offsets)),
        columns_(nnz_ == 0 ? nullptr : data<std::uint32_t>(r.columns)),
        values_(nnz_ == 0 ? nullptr : data<T>(r.elements)),
        x_(r.x ? data<T>(r.x) : nullptr),
        y_(data<T>(r.y)),
        shares_(offsets_, columns_, rows_, cols_, nnz_,
                std::max<std::size_t>(least_work / n_ / lines_ / width_, 16)) {
    if constexpr (has_kernels) {
      if (n_ == 1) kernels_ = block_kernels<T>(width_);
    }
  }

  bool is_small() const { return shares_.count() == 1; }
  /// Of the shares' sums, and of a vector with gaps or of float16.
  std::size_t scratch_floats() const {
    constexpr std::size_t each = sizeof(Sum) / sizeof(float);
    return each * (2 * shares_.count() * lines_ * n_ + (copies_x() ? cols_ * width_ : 0));
  }

  void run(float* scratch) {
    heads_ = reinterpret_cast<Sum*>(scratch);
    tails_ = heads_ + shares_.count() * lines_ * n_;
    if (copies_x()) {
      copy_x(tails_ + shares_.count() * lines_ * n_);
    } else if constexpr (!is_half) {
      vector_ = x_;
    }
    shares_.find_starts();
    parallel_tasks(shares_.count(), [&](std::size_t s) { run_share(s); });
    shares_.check();
    shares_.join(heads_, tails_, lines_ * n_,
                 [&](std::size_t row, const Sum* sums) { write(row, sums); });
  }

 private:
  static constexpr std::size_t least_work = 1 << 15;  // of a share, multiplications
  static constexpr std::size_t together = 256;        // elements of a line
  static constexpr std::size_t some_elements = 2048;  // that all lines go through before the next

  bool copies_x() const { return n_ == 1 && cols_ != 0 && (is_half || ldx_ != 1); }
  void copy_x(Sum* to) {
    for (std::size_t i = 0; i < cols_ * width_; ++i) {
      if constexpr (is_half) {
        to_float32(x_ + i * ldx_, to + i, 1);
      } else {
        to[i] = x_[i * ldx_];
      }
    }
    vector_ = to;
  }
  void run_share(std::size_t s) {
    const std::size_t first = shares_.first_row(s), last = shares_.past_row(s);
    const std::size_t n = lines_ * n_;
    const bool alone = is_small();
    std::size_t begin = shares_.first_element(s), known = begin;
    std::vector<Sum> sums(n);
    for (std::size_t row = first; row < last;) {
      if (row == first && !alone) {
        const std::size_t end = std::max(shares_.offset(row + 1), begin);
        if (end > known && !shares_.look_at(known, end)) return;
        sum(begin, end, heads_ + s * n);
        begin = end;
        ++row;
        continue;
      }
      // Rows of some elements together.
      std::size_t past = row, end = begin;
      do {
        end = std::max(shares_.offset(past + 1), end);
        ++past;
      } while (past < last && (end - begin) * lines_ * width_ < some_elements);
      if (end > known && !shares_.look_at(known, end)) return;
      if (kernels_ != nullptr && ldy_ == 1) {
        begin = by_kernels(rows_of(offsets_, y_, alpha_, beta_), row, past, begin);
        row = past;
        continue;
      }
      for (; row < past; ++row) {
        end = std::max(shares_.offset(row + 1), begin);
        sum(begin, end, sums.data());
        write(row, sums.data());
        begin = end;
      }
    }
    if (alone) return;
    const std::size_t end = std::max(shares_.past_element(s), begin);
    if (end > known && !shares_.look_at(known, end)) return;
    sum(begin, end, tails_ + s * n);
  }

  // By a vector ----------------------------------------------------------------------------------

  BlockRows<Sum> rows_of(const std::uint32_t* offsets, T* y, Real alpha, Real beta) const {
    if constexpr (has_kernels) {
      return {offsets, columns_, values_, vector_, y, nnz_, cols_, lines_, alpha, beta};
    } else {
      return {};
    }
  }
  /// Gives where the blocks of the last row end.
  std::size_t by_kernels(const BlockRows<Sum>& rows, std::size_t first, std::size_t last,
                         std::size_t begin) const {
    std::size_t end = begin;
    if constexpr (has_kernels) {
      for (std::size_t line = 0, kind = 0; line < lines_;) {
        while (block_lines[kind] > lines_ - line) ++kind;
        end = kernels_[kind](rows, first, last, begin, line);
        line += block_lines[kind];
      }
    }
    return end;
  }
  void sum_vector(std::size_t begin, std::size_t end, Sum* to) const {
    if constexpr (has_kernels) {
      if (kernels_ != nullptr) {
        const std::array<std::uint32_t, 2> offsets{static_cast<std::uint32_t>(begin),
                                                   static_cast<std::uint32_t>(end)};
        by_kernels(rows_of(offsets.data(), to, 1, 0), 0, 1, begin);
        return;
      }
    }
    std::fill_n(to, lines_, Sum{});
    std::vector<float> wide(is_half ? width_ : 0);
    for (std::size_t z = begin; z < end; ++z) {
      const Sum* const at = vector_ + columns_[z] * width_;
      for (std::size_t i = 0; i < lines_; ++i) {
        to[i] += dot(values_ + (z * lines_ + i) * width_, at, wide.data());
      }
    }
  }
  Sum dot(const T* values, const Sum* x, [[maybe_unused]] float* wide) const {
    Sum all{};
    if constexpr (is_half) {
      to_float32(values, wide, width_);
      for (std::size_t k = 0; k < width_; ++k) all += wide[k] * x[k];
    } else {
      for (std::size_t k = 0; k < width_; ++k) all += values[k] * x[k];
    }
    return all;
  }

  // By a matrix ----------------------------------------------------------------------------------

  /// to[lines, n] of some blocks, whose columns are right.
  void sum(std::size_t begin, std::size_t end, Sum* to) const {
    if (n_ == 1) return sum_vector(begin, end, to);
    std::fill_n(to, lines_ * n_, Sum{});
    if constexpr (std::is_same_v<Sum, float>) {
      if (width_ <= together && cols_ * width_ <= std::numeric_limits<std::uint32_t>::max()) {
        return sum_lines(begin, end, to);
      }
    }
    for (std::size_t z = begin; z < end; ++z) {
      const T* const x = x_ + columns_[z] * width_ * ldx_;
      for (std::size_t i = 0; i < lines_; ++i) {
        add_line(values_ + (z * lines_ + i) * width_, x, to + i * n_);
      }
    }
  }
  /// Line by line of some blocks side by side, so that sums stay in registers.
  void sum_lines(std::size_t begin, std::size_t end, float* to) const {
    const std::size_t most = together / width_;
    std::array<std::uint32_t, together> places;
    std::array<float, together> weights;
    for (std::size_t z = begin; z < end; z += most) {
      const std::size_t blocks = std::min(most, end - z);
      for (std::size_t b = 0; b < blocks; ++b) {
        const std::size_t first = columns_[z + b] * width_;
        for (std::size_t k = 0; k < width_; ++k) {
          places[b * width_ + k] = static_cast<std::uint32_t>(first + k);
        }
      }
      for (std::size_t i = 0; i < lines_; ++i) {
        for (std::size_t b = 0; b < blocks; ++b) {
          const T* const line = values_ + ((z + b) * lines_ + i) * width_;
          float* const wide = weights.data() + b * width_;
          if constexpr (is_half) {
            to_float32(line, wide, width_);
          } else {
            for (std::size_t k = 0; k < width_; ++k) wide[k] = line[k];
          }
        }
        row_kernels<T>().add_placed_rows(x_, places.data(), blocks * width_, ldx_, weights.data(),
                                         n_, to + i * n_);
      }
    }
  }
  void add_line(const T* values, const T* x, Sum* __restrict sums) const {
    if constexpr (std::is_same_v<Sum, float>) {
      constexpr std::size_t some = 64;
      std::array<float, some> wide;
      for (std::size_t k = 0; k < width_; k += some) {
        const std::size_t now = std::min(some, width_ - k);
        const float* weights = wide.data();
        if constexpr (is_half) {
          to_float32(values + k, wide.data(), now);
        } else {
          weights = values + k;
        }
        row_kernels<T>().add_weighted_rows(x + k * ldx_, now, ldx_, weights, n_, sums);
      }
    } else {
      for (std::size_t k = 0; k < width_; ++k) {
        const T value = values[k];
        const T* __restrict row = x + k * ldx_;
        for (std::size_t j = 0; j < n_; ++j) sums[j] += value * row[j];
      }
    }
  }

  void write(std::size_t row, const Sum* sums) const {
    const Real alpha = alpha_, beta = beta_;
    for (std::size_t i = 0; i < lines_; ++i) {
      T* __restrict const to = y_ + (row * lines_ + i) * ldy_;
      const Sum* __restrict const own = sums + i * n_;
      if constexpr (is_half) {
        for (std::size_t j = 0; j < n_; ++j) {
          float before = 0;
          if (beta != 0) to_float32(to + j, &before, 1);
          const float after = beta == 0 ? alpha * own[j] : alpha * own[j] + beta * before;
          from_float32(&after, to + j, 1);
        }
      } else if (beta == 0) {
        for (std::size_t j = 0; j < n_; ++j) to[j] = alpha * own[j];
      } else {
        for (std::size_t j = 0; j < n_; ++j) to[j] = alpha * own[j] + beta * to[j];
      }
    }
  }

  const std::size_t rows_, nnz_, cols_, n_, ldx_, ldy_, lines_, width_;
  const Real alpha_, beta_;
  const std::uint32_t* const offsets_;
  const std::uint32_t* const columns_;
  const T* const values_;
  const T* const x_;
  T* const y_;
  SparseShares shares_;
  const BlockKernel<Sum>* kernels_ = nullptr;
  Sum* heads_ = nullptr;
  Sum* tails_ = nullptr;
  const Sum* vector_ = nullptr;
};

}  // namespace tilewright::cpu
