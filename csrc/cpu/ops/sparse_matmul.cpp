#include "core/ops/sparse_matmul.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/elements.hpp"
#include "cpu/ops/sparse_blocks.hpp"
#include "cpu/ops/sparse_shares.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::size_t least_work = 1 << 15;  // of a share: its elements by the columns of X
constexpr std::size_t least_share = 512;
constexpr std::size_t block = 512;  // elements that are summed one after another
constexpr std::size_t width = 128;  // columns of X at a time

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
        shares_(offsets_, columns_, rows_, cols_, nnz_, std::max(least_work / n_, least_share)) {}

  bool is_small() const { return shares_.count() == 1; }
  /// Of the shares' sums, and of a vector of float16 as float32.
  std::size_t scratch_floats() const {
    return 2 * shares_.count() * n_ * sizeof(Sum) / sizeof(float) +
           (is_half && n_ == 1 ? cols_ : 0);
  }

  void run(float* scratch) {
    heads_ = reinterpret_cast<Sum*>(scratch);
    tails_ = heads_ + shares_.count() * n_;
    if constexpr (is_half) {
      if (n_ == 1) convert_vector(tails_ + shares_.count());
    } else {
      vector_ = x_;
      vector_stride_ = ldx_;
    }
    shares_.find_starts();
    parallel_tasks(shares_.count(), [&](std::size_t s) { run_share(s); });
    shares_.check();
    shares_.join(heads_, tails_, n_,
                 [&](std::size_t row, const Sum* sums) { write(row, 0, sums, n_); });
  }

 private:
  void convert_vector(float* to) {
    if (ldx_ == 1) {
      to_float32(x_, to, cols_);
    } else {
      for (std::size_t i = 0; i < cols_; ++i) to_float32(x_ + i * ldx_, to + i, 1);
    }
    vector_ = to;
    vector_stride_ = 1;
  }
  void run_share(std::size_t s) {
    const std::size_t first = shares_.first_row(s), last = shares_.past_row(s);
    const bool alone = is_small();
    std::size_t begin = shares_.first_element(s), known = begin;
    std::array<Sum, width> part;
    for (std::size_t row = first; row < last; ++row) {
      const std::size_t end = std::max(shares_.offset(row + 1), begin);
      if (end > known && !shares_.look_at(known, end)) return;
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
    const std::size_t end = std::max(shares_.past_element(s), begin);
    if (end > known && !shares_.look_at(known, end)) return;
    sum(begin, end, 0, n_, tails_ + s * n_);
  }
  /// Rows from `row` on whose elements are known to be right, at least one of them; gives the next
  /// row, and moves `begin` to its elements.
  std::size_t rows_by_vector(std::size_t row, std::size_t last, std::size_t& begin,
                             std::size_t known) {
    if constexpr (is_half) {
      const std::size_t end = std::max(shares_.offset(row + 1), begin);
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

  const std::size_t rows_, cols_, nnz_, n_, ldx_, ldy_;
  const Real alpha_, beta_;
  const std::uint32_t* const offsets_;
  const std::uint32_t* const columns_;
  const T* const values_;
  const T* const x_;
  T* const y_;
  SparseShares shares_;
  Sum* heads_ = nullptr;
  Sum* tails_ = nullptr;
  const Sum* vector_ = nullptr;
  std::size_t vector_stride_ = 0;
};

/// One of a batch's products.
SparseMatmulRequest product_of(const SparseMatmulRequest& r, Size i) {
  SparseMatmulRequest one = r;
  const auto move = [&](BufferRange& range, Size stride, std::size_t bytes) {
    range.offset += static_cast<std::uint64_t>(i * stride) * bytes;
  };
  const std::size_t element = static_cast<std::size_t>(r.numbers(1)) * size_of(r.dtype);
  move(one.offsets, r.stride_offsets, size_of(DType::int32));
  move(one.columns, r.stride_columns, size_of(DType::int32));
  move(one.elements, r.stride_values, element);
  move(one.x, r.stride_x, element);
  move(one.y, r.stride_y, element);
  one.batch = 1;
  return one;
}

/// Small products go to threads as they are, others are cut into shares one after another.
template <class Product>
void multiply(const SparseMatmulRequest& r, MemoryPool& memory) {
  const Product like(r);
  const std::size_t floats = like.scratch_floats();
  const auto batch = static_cast<std::size_t>(r.batch);
  const bool in_parallel = batch > 1 && (like.is_small() || batch >= 2 * thread_count());
  OpScratch room(memory, "sparse_matmul", floats,
                 in_parallel ? std::min(batch, thread_count()) : 1);
  const auto run = [&](std::size_t i) {
    Scratch own(room);
    Product(product_of(r, static_cast<Size>(i))).run(own.take(floats));
  };
  if (!in_parallel) {
    for (std::size_t i = 0; i < batch; ++i) run(i);
    return;
  }
  const Size work = (r.rows * r.block_rows + r.nnz * r.block_rows * r.block_cols) * r.n;
  parallel_units(batch, static_cast<std::size_t>(work), run);
}

template <class T>
void multiply_of(const SparseMatmulRequest& r, MemoryPool& memory) {
  if (r.block_rows == 1 && r.block_cols == 1) return multiply<Product<T>>(r, memory);
  multiply<BlockProduct<T>>(r, memory);
}

}  // namespace

void CpuBackend::do_sparse_matmul(const SparseMatmulRequest& r) {
  if (r.dtype == DType::float16) return multiply_of<Half>(r, *memory_);
  if (r.dtype == DType::float64) {
    return r.is_complex ? multiply_of<Complex<double>>(r, *memory_)
                        : multiply_of<double>(r, *memory_);
  }
  r.is_complex ? multiply_of<Complex<float>>(r, *memory_) : multiply_of<float>(r, *memory_);
}

}  // namespace tilewright::cpu
