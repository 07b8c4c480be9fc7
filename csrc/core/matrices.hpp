#pragma once

#include <initializer_list>
#include <string_view>

#include "core/call.hpp"
#include "core/text.hpp"

namespace tilewright {

/// The matrices of a factorisation: how many, and what their elements are.
struct Matrices {
  Size batch;
  bool is_complex;
  DType dtype;

  /// Numbers of dtype in so many elements.
  Size numbers(Size elements) const { return is_complex ? 2 * elements : elements; }
};

/// Checks the operands of a factorisation.
class MatrixChecks {
 public:
  MatrixChecks(const Call& call, const Matrices& of) : call_(call), of_(of) {
    call.not_negative("batch", of.batch);
    if (of.dtype != DType::float32 && of.dtype != DType::float64) {
      call.invalid(text("dtype is ", to_string(of.dtype), ", expected float32 or float64"));
    }
  }

  /// So many elements of each matrix.
  BufferRange elements(std::string_view name, Buffer handle, Size rows, Size columns) const {
    return call_.buffer(name, handle, call_.product({rows, columns, of_.batch, width()}),
                        of_.dtype);
  }
  /// Real ones.
  BufferRange reals(std::string_view name, Buffer handle, Size count) const {
    return call_.buffer(name, handle, call_.mul(count, of_.batch), of_.dtype);
  }
  /// Complex ones, whatever the matrices are.
  BufferRange complexes(std::string_view name, Buffer handle, Size rows, Size columns) const {
    return call_.buffer(name, handle, call_.product({rows, columns, of_.batch, 2}), of_.dtype);
  }
  BufferRange integers(std::string_view name, Buffer handle, Size count) const {
    return call_.buffer(name, handle, call_.mul(count, of_.batch), DType::int32);
  }

  struct Named {
    std::string_view name;
    const BufferRange& range;
  };
  /// Each lies apart from all others.
  void apart(std::initializer_list<Named> all) const {
    for (const Named* one = all.begin(); one != all.end(); ++one) {
      for (const Named* other = all.begin(); other != one; ++other) {
        call_.apart(one->name, one->range, other->name, other->range);
      }
    }
  }

 private:
  Size width() const { return of_.is_complex ? 2 : 1; }

  const Call& call_;
  const Matrices& of_;
};

}  // namespace tilewright
