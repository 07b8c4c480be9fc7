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
// order.
namespace tilewright::cpu {

namespace {

constexpr std::size_t least_work = 1 << 15;  // of a share: of its elements, each of so many columns
constexpr std::size_t least_share = 512, most_shares = 128;
constexpr std::size_t block = 512;  // elements that are summed one after another
constexpr std::size_t width = 64;   // columns of X at a time

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

/// An element of type T in memory: what it is summed in, and the real numbers of that.
template <class T>
struct Element {
  using Sum = T;
  using Real = T;
  static Sum load(const T& x) { return x; }
  static void store(const Sum& sum, T& to) { to = sum; }
};
template <class T>
struct Element<Complex<T>> {
  using Sum = Complex<T>;
  using Real = T;
  static Sum load(const Sum& x) { return x; }
  static void store(const Sum& sum, Sum& to) { to = sum; }
};
template <>
struct Element<Half> {
  using Sum = float;
  using Real = float;
  static Sum load(const Half& x) {
    float to;
    to_float32(&x, &to, 1);
    return to;
  }
  static void store(const Sum& sum, Half& to) { from_float32(&sum, &to, 1); }
};

template <class T>
class Product {
 public:
  using Sum = typename Element<T>::Sum;
  using Real = typename Element<T>::Real;

  explicit Product(const SparseMatmulRequest& r)
      : rows_(static_cast<std::size_t>(r.rows)),
        cols_(static_cast<std::size_t>(r.cols)),
        nnz_(static_cast<std::size_t>(r.nnz)),
        n_(static_cast<std::size_t>(r.n)),
        ldx_(static_cast<std::size_t>(r.ldx)),
        ldy_(static_cast<std::size_t>(r.ldy)),
        alpha_(static_cast<Real>(r.alpha)),
        beta_(static_cast<Real>(r.beta)),
        offsets_(data<std::int32_t>(r.offsets)),
        columns_(nnz_ == 0 ? nullptr : data<std::uint32_t>(r.columns)),
        values_(nnz_ == 0 ? nullptr : data<T>(r.values)),
        x_(r.x ? data<T>(r.x) : nullptr),
        y_(data<T>(r.y)),
        share_(std::max({least_work / n_, least_share, (items() + most_shares - 1) / most_shares})),
        shares_((items() + share_ - 1) / share_),
        bad_(nnz_) {}

  std::size_t scratch_floats() const { return 2 * shares_ * n_ * sizeof(Sum) / sizeof(float); }

  void run(float* scratch) {
    heads_ = reinterpret_cast<Sum*>(scratch);
    tails_ = heads_ + shares_ * n_;
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
  /// No further than there are elements, whatever the offsets are.
  std::size_t offset(std::size_t row) const {
    return offsets_[row] < 0 ? 0 : std::min(static_cast<std::size_t>(offsets_[row]), nnz_);
  }
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
    const std::size_t from = s * share_ - first;
    const std::size_t past = std::min(std::min((s + 1) * share_, items()) - last, nnz_);
    const bool alone = shares_ == 1;
    std::size_t begin = std::min(from, nnz_);
    for (std::size_t row = first; row < last; ++row) {
      const std::size_t end = std::max(offset(row + 1), begin);
      if (row == first && !alone) {
        sum(begin, end, heads_ + s * n_);
      } else if (n_ == 1) {
        const Sum whole = dot(begin, end);
        write(row, 0, &whole, 1);
      } else {
        std::array<Sum, width> part;
        for (std::size_t j = 0; j < n_; j += width) {
          const std::size_t now = std::min(width, n_ - j);
          columns(begin, end, j, now, part.data());
          write(row, j, part.data(), now);
        }
      }
      begin = end;
    }
    if (!alone) sum(begin, std::max(past, begin), tails_ + s * n_);
  }
  void sum(std::size_t begin, std::size_t end, Sum* to) {
    if (n_ == 1) {
      *to = dot(begin, end);
      return;
    }
    for (std::size_t j = 0; j < n_; j += width) {
      columns(begin, end, j, std::min(width, n_ - j), to + j);
    }
  }
  void found_bad(std::size_t z) {
    std::size_t known = bad_;
    while (z < known && !bad_.compare_exchange_weak(known, z)) {
    }
  }
  Sum product(std::size_t z) {
    const std::size_t column = columns_[z];
    if (column >= cols_) [[unlikely]] {
      found_bad(z);
      return {};
    }
    return Element<T>::load(values_[z]) * Element<T>::load(x_[column * ldx_]);
  }
  /// Of one column, in blocks, so that errors do not grow with long rows.
  Sum dot(std::size_t begin, std::size_t end) {
    if (end - begin < 16) {
      Sum few{};
      for (std::size_t z = begin; z < end; ++z) few += product(z);
      return few;
    }
    Sum all{};
    for (std::size_t first = begin; first < end; first += block) {
      const std::size_t past = std::min(first + block, end);
      Sum even{}, odd{}, third{}, fourth{};
      std::size_t z = first;
      for (; z + 4 <= past; z += 4) {
        even += product(z);
        odd += product(z + 1);
        third += product(z + 2);
        fourth += product(z + 3);
      }
      for (; z < past; ++z) even += product(z);
      all += (even + odd) + (third + fourth);
    }
    return all;
  }
  void columns(std::size_t begin, std::size_t end, std::size_t first, std::size_t count, Sum* to) {
    std::fill_n(to, count, Sum{});
    std::array<Sum, width> part;
    for (std::size_t from = begin; from < end; from += block) {
      const bool one = end - begin <= block;
      Sum* const sums = one ? to : part.data();
      if (!one) std::fill_n(sums, count, Sum{});
      const std::size_t past = std::min(from + block, end);
      for (std::size_t z = from; z < past; ++z) {
        const std::size_t column = columns_[z];
        if (column >= cols_) [[unlikely]] {
          found_bad(z);
          continue;
        }
        add_row(Element<T>::load(values_[z]), x_ + column * ldx_ + first, count, sums);
      }
      if (one) continue;
      for (std::size_t j = 0; j < count; ++j) to[j] += sums[j];
    }
  }
  static void add_row(const Sum& value, const T* row, std::size_t count, Sum* sums) {
    if constexpr (std::is_same_v<T, Half>) {
      std::array<float, width> converted;
      to_float32(row, converted.data(), count);
      for (std::size_t j = 0; j < count; ++j) sums[j] += value * converted[j];
    } else if (count == width) {
      for (std::size_t j = 0; j < width; ++j) sums[j] += value * row[j];
    } else {
      for (std::size_t j = 0; j < count; ++j) sums[j] += value * row[j];
    }
  }
  void write(std::size_t row, std::size_t first, const Sum* sums, std::size_t count) {
    T* const to = y_ + row * ldy_ + first;
    for (std::size_t j = 0; j < count; ++j) {
      Sum result = alpha_ * sums[j];
      if (beta_ != 0) result += beta_ * Element<T>::load(to[j]);
      Element<T>::store(result, to[j]);
    }
  }
  void join() {
    if (shares_ == 1) return;
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
  const std::int32_t* const offsets_;
  const std::uint32_t* const columns_;
  const T* const values_;
  const T* const x_;
  T* const y_;
  const std::size_t share_, shares_;
  std::vector<std::size_t> starts_;
  Sum* heads_ = nullptr;
  Sum* tails_ = nullptr;
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
  if (r.dtype == DType::float16) return multiply<Half>(r, *memory_);
  if (r.dtype == DType::float64) {
    return r.is_complex ? multiply<Complex<double>>(r, *memory_) : multiply<double>(r, *memory_);
  }
  r.is_complex ? multiply<Complex<float>>(r, *memory_) : multiply<float>(r, *memory_);
}

}  // namespace tilewright::cpu
