#pragma once

#include <utility>

#include "cpu/elements.hpp"

namespace tilewright::cpu {

/// Calls body(T{}) with a type of the size of a dtype, for rows that are moved as they are.
template <class Body>
void with_rows_of(DType dtype, Body&& body) {
  with_element_type(size_of(dtype) == 2 ? DType::float16 : DType::float32,
                    std::forward<Body>(body));
}

}  // namespace tilewright::cpu
