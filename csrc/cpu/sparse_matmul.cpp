#include "core/ops/sparse_matmul.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/text.hpp"
#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/elements.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"
#include "tilewright/error.hpp"

// Rows' ends and elements, merged in their order, are cut into equal shares. Each share keeps what
// it has of its first row and of the one that it does not end; these are joined at the end, in
// order. The cut depends on the sizes alone, so the bits do not depend on the number of threads.
namespace tilewright::cpu {

namespace {

constexpr std::size_t least_work = 1 << 15;  // of a share: its elements by the columns of X
constexpr std::size_t least_share = 512, most_shares = 128;
constexpr std::size_t block = 512;   // elements that are summed one after another
constexpr std::size_t width = 128;   // columns of X at a time
constexpr std::size_t ahead = 4096;  // elements whose columns are looked at together

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

/// The sum of products of elements with a vector, in blocks, so that errors do not grow with long
/// rows. Columns are right.
template <class Sum>
Sum dot(const Sum* values, const std::uint32_t* columns, std::size_t count, const Sum* x,
        std::size_t stride) {
  Sum all{};
  std::size_t z = 0;
  for (; count - z >= 16; z += std::min(block, (count - z) / 4 * 4)) {
    const std::size_t past = z + std::min(block, (count - z) / 4 * 4);
    Sum first{}, second{}, third{}, fourth{};
    for (std::size_t i = z; i < past; i += 4) {
      first += values[i] * x[columns[i] * stride];
      second += values[i + 1] * x[columns[i + 1] * stride];
      third += values[i + 2] * x[columns[i + 2] * stride];
      fourth += values[i + 3] * x[columns[i + 3] * stride];
    }
    all += (first + second) + (third + fourth);
  }
  for (; z < count; ++z) all += values[z] * x[columns[z] * stride];
  return all;
}

/// Rows by a vector, as long as their elements are known to be right.
template <class T>
struct VectorRows {
  const std::uint32_t* offsets;
  const std::uint32_t* columns;
  const T* values;
  const T* x;
  T* y;
  std::size_t nnz, known, last, stride, ldy;
  typename Element<T>::Real alpha, beta;
};

/// The next row; moves `begin` to its elements. `plain`: strides are 1 and beta 0. A function of
/// its own, for its registers.
template <bool plain, class T>
[[gnu::noinline]] std::size_t multiply_rows(const VectorRows<T>& rows, std::size_t row,
                                            std::size_t& begin) {
  constexpr std::size_t few = 24;
  const VectorRows<T> r = rows;
  std::size_t z = begin;
  for (; row < r.last; ++row) {
    const std::size_t end = std::max(std::min<std::size_t>(r.offsets[row + 1], r.nnz), z);
    if (end > r.known) break;
    T whole{};
    if (end - z > few) {
      whole = dot(r.values + z, r.columns + z, end - z, r.x, plain ? 1 : r.stride);
      z = end;
    } else {
      for (; z < end; ++z) {
        // One by one: of elements that are picked up for vectors, short rows take twice as long.
        asm volatile("" : "+r"(z));
        whole += r.values[z] * r.x[plain ? r.columns[z] : r.columns[z] * r.stride];
      }
    }
    T& to = r.y[plain ? row : row * r.ldy];
    to = plain || r.beta == 0 ? r.alpha * whole : r.alpha * whole + r.beta * to;
  }
  begin = z;
  return row;
}

/// sums[j] += sum of values[z] * x[columns[z], j]. Columns are right.
template <class T, class Sum>
void add_rows(const Sum* values, const std::uint32_t* columns, std::size_t count, const T* x,
              std::size_t stride, std::size_t n, Sum* __restrict sums) {
  if constexpr (std::is_same_v<Sum, float>) {
    row_kernels<T>().add_placed_rows(x, columns, count, stride, values, n, sums);
  } else {
    for (std::size_t z = 0; z < count; ++z) {
      const Sum value = values[z];
      const T* __restrict row = x + columns[z] * stride;
      for (std::size_t j = 0; j < n; ++j) sums[j] += value * row[j];
    }
  }
}

template <class T>
class Product {
 public:
  using Sum = typename Element<T>::Sum;
  using Real = typename Element<T>::Real;
  static constexpr bool is_half = std::is_same_v<T, Half>;

  explicit Product(const SparseMatmulRequest& r)
      : rows_(static_cast<std::size_t>(r.rows)),
        cols_(static_cast<std::size_t>(r.cols)),
        nnz_(static_cast<std::size_t>(r.nnz)),
        n_(static_cast<std::size_t>(r.n)),
        ldx_(static_cast<std::size_t>(r.ldx)),
        ldy_(static_cast<std::size_t>(r.ldy)),
        alpha_(static_cast<Real>(r.alpha)),
        beta_(static_cast<Real>(r.beta)),
        offsets_(data<std::uint32_t>(r.offsets)),
        columns_(nnz_ == 0 ? nullptr : data<std::uint32_t>(r.columns)),
        values_(nnz_ == 0 ? nullptr : data<T>(r.elements)),
        x_(r.x ? data<T>(r.x) : nullptr),
        y_(data<T>(r.y)),
        share_(std::max({least_work / n_, least_share, (items() + most_shares - 1) / most_shares})),
        shares_((items() + share_ - 1) / share_),
        bad_(nnz_) {}

  /// Of the shares' sums, and of a vector of float16 as float32.
  std::size_t scratch_floats() const {
    return 2 * shares_ * n_ * sizeof(Sum) / sizeof(float) + (is_half && n_ == 1 ? cols_ : 0);
  }

  void run(float* scratch) {
    heads_ = reinterpret_cast<Sum*>(scratch);
    tails_ = heads_ + shares_ * n_;
    if constexpr (is_half) {
      if (n_ == 1) convert_vector(tails_ + shares_);
    } else {
      vector_ = x_;
      vector_stride_ = ldx_;
    }
    starts_.resize(shares_ + 1);
    starts_[shares_] = rows_;
    for (std::size_t s = 0; s < shares_; ++s) starts_[s] = rows_before(s * share_);
    parallel_tasks(shares_, [&](std::size_t s) { run_share(s); });
    join();
    if (const std::size_t bad = bad_; bad < nnz_) {
      throw IndexOutOfRange(text("sparse_matmul: index ", static_cast<std::int32_t>(columns_[bad]),
                                 " is out of range for axis 1 of ", cols_, " elements"));
    }
  }

 private:
  std::size_t items() const { return rows_ + nnz_; }
  void convert_vector(float* to) {
    if (ldx_ == 1) {
      to_float32(x_, to, cols_);
    } else {
      for (std::size_t i = 0; i < cols_; ++i) to_float32(x_ + i * ldx_, to + i, 1);
    }
    vector_ = to;
    vector_stride_ = 1;
  }
  /// No further than there are elements, whatever the offsets are.
  std::size_t offset(std::size_t row) const { return std::min<std::size_t>(offsets_[row], nnz_); }
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
  void run_share(std::size_t s) {
    const std::size_t first = starts_[s], last = starts_[s + 1];
    const std::size_t past = std::min(std::min((s + 1) * share_, items()) - last, nnz_);
    const bool alone = shares_ == 1;
    std::size_t begin = std::min(s * share_ - first, nnz_), known = begin;
    std::array<Sum, width> part;
    for (std::size_t row = first; row < last; ++row) {
      const std::size_t end = std::max(offset(row + 1), begin);
      if (end > known && !look_at(known, end)) return;
      if (row == first && !alone) {
        sum(begin, end, 0, n_, heads_ + s * n_);
      } else if (n_ == 1) {
        row = rows_by_vector(row, last, begin, known) - 1;
        continue;
      } else {
        for (std::size_t j = 0; j < n_; j += width) {
          const std::size_t now = std::min(width, n_ - j);
          sum(begin, end, j, now, part.data());
          write(row, j, part.data(), now);
        }
      }
      begin = end;
    }
    if (alone) return;
    const std::size_t end = std::max(past, begin);
    if (end > known && !look_at(known, end)) return;
    sum(begin, end, 0, n_, tails_ + s * n_);
  }
  /// Rows from `row` on whose elements are known to be right, at least one of them; gives the next
  /// row, and moves `begin` to its elements.
  std::size_t rows_by_vector(std::size_t row, std::size_t last, std::size_t& begin,
                             std::size_t known) {
    if constexpr (is_half) {
      const std::size_t end = std::max(offset(row + 1), begin);
      const Sum whole = one_column(begin, end);
      write(row, 0, &whole, 1);
      begin = end;
      return row + 1;
    } else {
      const VectorRows<T> rows{offsets_, columns_, values_,        vector_, y_,     nnz_,
                               known,    last,     vector_stride_, ldy_,    alpha_, beta_};
      const bool plain = vector_stride_ == 1 && ldy_ == 1 && beta_ == 0;
      return plain ? multiply_rows<true>(rows, row, begin) : multiply_rows<false>(rows, row, begin);
    }
  }
  /// Whether the columns of the elements to `past`, at least, are inside; moves on to where it has
  /// looked.
  bool look_at(std::size_t& from, std::size_t past) {
    past = std::min(std::max(past, from + ahead), nnz_);
    std::uint32_t outside = 0;
    const auto cols = static_cast<std::uint32_t>(std::min<std::size_t>(cols_, 1u << 31));
    for (std::size_t z = from; z < past; ++z) outside |= columns_[z] >= cols ? 1u : 0u;
    if (outside != 0) [[unlikely]] {
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
  Sum one_column(std::size_t begin, std::size_t end) const {
    if constexpr (is_half) {
      Sum all{};
      std::array<float, block> values;
      for (std::size_t z = begin; z < end; z += block) {
        const std::size_t now = std::min(block, end - z);
        to_float32(values_ + z, values.data(), now);
        all += dot(values.data(), columns_ + z, now, vector_, vector_stride_);
      }
      return all;
    } else {
      return dot(values_ + begin, columns_ + begin, end - begin, vector_, vector_stride_);
    }
  }
  /// Of some columns of X.
  void sum(std::size_t begin, std::size_t end, std::size_t first, std::size_t count,
           Sum* to) const {
    if (n_ == 1) {
      *to = one_column(begin, end);
      return;
    }
    std::fill_n(to, count, Sum{});
    std::array<Sum, width> part;
    for (std::size_t j = 0; j < count; j += width) {
      const std::size_t now = std::min(width, count - j);
      for (std::size_t z = begin; z < end; z += block) {
        const bool one = end - begin <= block;
        Sum* const sums = one ? to + j : part.data();
        if (!one) std::fill_n(sums, now, Sum{});
        add_block(z, std::min(block, end - z), first + j, now, sums);
        if (one) continue;
        for (std::size_t k = 0; k < now; ++k) to[j + k] += sums[k];
      }
    }
  }
  void add_block(std::size_t z, std::size_t count, std::size_t first, std::size_t n,
                 Sum* sums) const {
    if constexpr (is_half) {
      std::array<float, block> values;
      to_float32(values_ + z, values.data(), count);
      add_rows(values.data(), columns_ + z, count, x_ + first, ldx_, n, sums);
    } else {
      add_rows(values_ + z, columns_ + z, count, x_ + first, ldx_, n, sums);
    }
  }
  void write(std::size_t row, std::size_t first, const Sum* sums, std::size_t count) {
    T* const to = y_ + row * ldy_ + first;
    if constexpr (is_half) {
      std::array<float, width> wide, before;
      for (std::size_t j = 0; j < count; j += width) {
        const std::size_t now = std::min(width, count - j);
        if (beta_ != 0) to_float32(to + j, before.data(), now);
        for (std::size_t k = 0; k < now; ++k) {
          wide[k] = alpha_ * sums[j + k];
          if (beta_ != 0) wide[k] += beta_ * before[k];
        }
        from_float32(wide.data(), to + j, now);
      }
    } else if (beta_ == 0) {
      for (std::size_t j = 0; j < count; ++j) to[j] = alpha_ * sums[j];
    } else {
      for (std::size_t j = 0; j < count; ++j) to[j] = alpha_ * sums[j] + beta_ * to[j];
    }
  }
  void join() {
    if (shares_ == 1 || bad_ < nnz_) return;
    std::vector<Sum> carried(n_);
    for (std::size_t s = 0; s < shares_; ++s) {
      const Sum* const tail = tails_ + s * n_;
      if (starts_[s] == starts_[s + 1]) {
        for (std::size_t j = 0; j < n_; ++j) carried[j] += tail[j];
        continue;
      }
      const Sum* const head = heads_ + s * n_;
      for (std::size_t j = 0; j < n_; ++j) carried[j] += head[j];
      write(starts_[s], 0, carried.data(), n_);
      std::copy_n(tail, n_, carried.data());
    }
  }

  const std::size_t rows_, cols_, nnz_, n_, ldx_, ldy_;
  const Real alpha_, beta_;
  const std::uint32_t* const offsets_;
  const std::uint32_t* const columns_;
  const T* const values_;
  const T* const x_;
  T* const y_;
  const std::size_t share_, shares_;
  std::vector<std::size_t> starts_;
  Sum* heads_ = nullptr;
  Sum* tails_ = nullptr;
  const Sum* vector_ = nullptr;
  std::size_t vector_stride_ = 0;
  std::atomic<std::size_t> bad_;  // the first element whose column is outside
};

template <class T>
void multiply(const SparseMatmulRequest& r, MemoryPool& memory) {
  Product<T> product(r);
  OpScratch room(memory, "sparse_matmul", product.scratch_floats());
  product.run(Scratch(room).take(product.scratch_floats()));
}

}  // namespace

void CpuBackend::do_sparse_matmul(const SparseMatmulRequest& r) {
  if (r.batch != 1 || r.block_rows != 1 || r.block_cols != 1) {
    throw Unsupported("sparse_matmul: batches and blocks; multiply one by one");
  }
  if (r.dtype == DType::float16) return multiply<Half>(r, *memory_);
  if (r.dtype == DType::float64) {
    return r.is_complex ? multiply<Complex<double>>(r, *memory_) : multiply<double>(r, *memory_);
  }
  r.is_complex ? multiply<Complex<float>>(r, *memory_) : multiply<float>(r, *memory_);
}

}  // namespace tilewright::cpu
