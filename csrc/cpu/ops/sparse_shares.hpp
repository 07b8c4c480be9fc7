#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/sparse_table.hpp"
#include "tilewright/error.hpp"

namespace tilewright::cpu {

template <class T>
struct Complex {
  T re, im;
  Complex& operator+=(const Complex& b) {
    re += b.re;
    im += b.im;
    return *this;
  }
};
template <class T>
Complex<T> operator+(Complex<T> a, const Complex<T>& b) {
  return a += b;
}
template <class T>
Complex<T> operator*(T a, const Complex<T>& b) {
  return {a * b.re, a * b.im};
}
template <class T>
Complex<T> operator*(const Complex<T>& a, const Complex<T>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// What an element of type T in memory is summed in, and the real numbers of that.
template <class T>
struct Element {
  using Sum = T;
  using Real = T;
};
template <class T>
struct Element<Complex<T>> {
  using Sum = Complex<T>;
  using Real = T;
};
template <>
struct Element<Half> {
  using Sum = float;
  using Real = float;
};

/// The rows of a sparse matrix, or those of its blocks, cut into shares: rows' ends and elements,
/// merged in their order, are cut into equal parts. Each keeps what it has of its first row and of
/// the one that it does not end; these are joined at the end, in order. The cut depends on the
/// sizes alone, so the bits do not depend on the number of threads.
class SparseShares {
 public:
  static constexpr std::size_t most = 128;

  /// At least `least` of the merged list a share.
  SparseShares(const std::uint32_t* offsets, const std::uint32_t* columns, std::size_t rows,
               std::size_t cols, std::size_t nnz, std::size_t least)
      : offsets_(offsets),
        columns_(columns),
        rows_(rows),
        cols_(cols),
        nnz_(nnz),
        share_(std::max(least, (items() + most - 1) / most)),
        bad_(nnz) {}

  std::size_t count() const { return (items() + share_ - 1) / share_; }
  /// No further than there are elements, whatever the offsets are.
  std::size_t offset(std::size_t row) const { return std::min<std::size_t>(offsets_[row], nnz_); }

  void find_starts() {
    starts_.resize(count() + 1);
    starts_[count()] = rows_;
    for (std::size_t s = 0; s < count(); ++s) starts_[s] = rows_before(s * share_);
  }
  std::size_t first_row(std::size_t share) const { return starts_[share]; }
  std::size_t past_row(std::size_t share) const { return starts_[share + 1]; }
  std::size_t first_element(std::size_t share) const {
    return std::min(share * share_ - starts_[share], nnz_);
  }
  std::size_t past_element(std::size_t share) const {
    return std::min(std::min((share + 1) * share_, items()) - starts_[share + 1], nnz_);
  }

  /// Whether the columns of the elements to `past`, at least, are inside; moves on to where it has
  /// looked.
  bool look_at(std::size_t& from, std::size_t past) {
    constexpr std::size_t ahead = 4096;
    past = std::min(std::max(past, from + ahead), nnz_);
    const auto cols = static_cast<std::uint32_t>(std::min<std::size_t>(cols_, 1u << 31));
    if (past > from && sparse_table().largest(columns_ + from, past - from) >= cols) [[unlikely]] {
      std::size_t bad = from;
      while (columns_[bad] < cols) ++bad;
      std::size_t known = bad_;
      while (bad < known && !bad_.compare_exchange_weak(known, bad)) {
      }
      return false;
    }
    from = past;
    return true;
  }
  /// Throws IndexOutOfRange where that found one outside.
  void check() const {
    if (const std::size_t bad = bad_; bad < nnz_) {
      throw IndexOutOfRange(text("sparse_matmul: index ", static_cast<std::int32_t>(columns_[bad]),
                                 " is out of range for axis 1 of ", cols_, " elements"));
    }
  }
  /// write(row, sums) of rows of which no share has all, by the n sums of each share's first row
  /// and last one.
  template <class Sum, class Write>
  void join(const Sum* heads, const Sum* tails, std::size_t n, const Write& write) const {
    if (count() == 1) return;
    std::vector<Sum> carried(n);
    for (std::size_t s = 0; s < count(); ++s) {
      const Sum* const tail = tails + s * n;
      if (starts_[s] == starts_[s + 1]) {
        for (std::size_t j = 0; j < n; ++j) carried[j] += tail[j];
        continue;
      }
      const Sum* const head = heads + s * n;
      for (std::size_t j = 0; j < n; ++j) carried[j] += head[j];
      write(starts_[s], carried.data());
      std::copy_n(tail, n, carried.data());
    }
  }

 private:
  std::size_t items() const { return rows_ + nnz_; }
  /// How many rows end within the first so many items of the merged list.
  std::size_t rows_before(std::size_t items) const {
    std::size_t first = 0, left = rows_;
    while (left != 0) {
      const std::size_t half = left / 2, row = first + half;
      if (offset(row + 1) + row + 1 <= items) {
        first = row + 1;
        left -= half + 1;
      } else {
        left = half;
      }
    }
    return first;
  }

  const std::uint32_t* const offsets_;
  const std::uint32_t* const columns_;
  const std::size_t rows_, cols_, nnz_, share_;
  std::vector<std::size_t> starts_;
  std::atomic<std::size_t> bad_;  // the first element whose column is outside
};

}  // namespace tilewright::cpu
