#include <algorithm>
#include <array>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Where the elements of an operand are, row by row of the last dimension.
template <class T>
class Walk {
 public:
  Walk(const BinaryRequest& r, const std::array<Size, max_rank>& strides, const T* data,
       std::size_t start)
      : request_(r), strides_(strides), at_(data) {
    auto rest = static_cast<Size>(start);
    for (std::size_t d = r.rank; d-- > 0;) {
      index_[d] = rest % r.shape[d];
      rest /= r.shape[d];
      at_ += index_[d] * strides[d];
    }
  }

  Size left_in_row() const { return request_.shape[last()] - index_[last()]; }
  Size step() const { return strides_[last()]; }
  const T* at() const { return at_; }

  /// n elements on, at most to the end of the row.
  void advance(Size n) {
    std::size_t d = last();
    index_[d] += n;
    at_ += n * strides_[d];
    while (index_[d] == request_.shape[d] && d > 0) {
      at_ -= index_[d] * strides_[d];
      index_[d] = 0;
      --d;
      ++index_[d];
      at_ += strides_[d];
    }
  }

  /// Copies the next n elements, whatever rows they are in.
  void copy(T* to, std::size_t n) {
    while (n > 0) {
      const std::size_t now = std::min(n, static_cast<std::size_t>(left_in_row()));
      const Size stride = step();
      const T* from = at_;
      for (std::size_t i = 0; i < now; ++i, from += stride) to[i] = *from;
      advance(static_cast<Size>(now));
      to += now;
      n -= now;
    }
  }

 private:
  std::size_t last() const { return request_.rank - 1; }

  const BinaryRequest& request_;
  const std::array<Size, max_rank>& strides_;
  std::array<Size, max_rank> index_{};
  const T* at_;
};

bool plain_or_scalar(Size stride) { return stride == 0 || stride == 1; }

/// Elements [begin, end) of the output, in the rows of the last dimension.
template <class T>
void binary_by_rows(const BinaryRequest& r, std::size_t begin, std::size_t end, T* output,
                    Store how) {
  Walk<T> a(r, r.a_strides, data<T>(r.a), begin), b(r, r.b_strides, data<T>(r.b), begin);
  while (begin < end) {
    const std::size_t n = std::min(end - begin, static_cast<std::size_t>(a.left_in_row()));
    kernels_for<T>().binary(r.op, {a.at(), a.step() == 0}, {b.at(), b.step() == 0}, output + begin,
                            n, how);
    a.advance(static_cast<Size>(n));
    b.advance(static_cast<Size>(n));
    begin += n;
  }
}

/// The same with operands gathered into blocks first: for short rows and for other strides.
template <class T>
void binary_by_blocks(const BinaryRequest& r, std::size_t begin, std::size_t end, T* output) {
  constexpr std::size_t block = 1024;
  T a_block[block], b_block[block];
  Walk<T> a(r, r.a_strides, data<T>(r.a), begin), b(r, r.b_strides, data<T>(r.b), begin);
  while (begin < end) {
    const std::size_t n = std::min(end - begin, block);
    a.copy(a_block, n);
    b.copy(b_block, n);
    kernels_for<T>().binary(r.op, {a_block, false}, {b_block, false}, output + begin, n,
                            Store::cached);
    begin += n;
  }
}

}  // namespace

void CpuBackend::do_binary(const BinaryRequest& r) {
  with_element_type(r.dtype, [&]<class T>(T) {
    T* output = data<T>(r.output);
    const auto n = static_cast<std::size_t>(r.n);
    constexpr Size short_row = 64, worth_streaming = 256;
    const std::size_t last = r.rank - 1;
    const bool by_rows = plain_or_scalar(r.a_strides[last]) && plain_or_scalar(r.b_strides[last]) &&
                         (r.rank == 1 || r.shape[last] >= short_row);
    const bool in_place = r.output == r.a || r.output == r.b;
    const Store how =
        r.shape[last] < worth_streaming ? Store::cached : store_for(n * sizeof(T), in_place);
    parallel_for(n, element_grain, [&](std::size_t begin, std::size_t end) {
      if (by_rows) {
        binary_by_rows(r, begin, end, output, how);
      } else {
        binary_by_blocks(r, begin, end, output);
      }
    });
  });
}

}  // namespace tilewright::cpu
