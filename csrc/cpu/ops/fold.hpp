#pragma once

#include <cstddef>
#include <cstdint>

#include "core/requests.hpp"
#include "cpu/kernels/program_table.hpp"

// What reductions and scans of programs share.
namespace tilewright::cpu {

/// The loop that joins values of a class.
ProgramLoop loop_of(Reduction op, ComputeClass kind);

/// Whether what is joined are elements of float32 as they are.
bool reads_plainly(const FoldRequest& r);

/// Whether neighbouring results, at least `least` of them in a row, are made side by side, since
/// the inputs lie so.
bool walks_columns(const FoldRequest& r, Size least);

/// The walk through what is reduced: kept dimensions, then the others; with `columns` the last kept
/// one comes last.
MapRequest request_front(const FoldRequest& r, bool columns, std::size_t operands);

/// Calls body(T{}) with the type of a class's values, other than bool.
template <class Body>
void with_class(ComputeClass kind, const Body& body) {
  switch (kind) {
    case ComputeClass::i32:
      return body(std::int32_t{});
    case ComputeClass::boolean:
    case ComputeClass::u32:
      return body(std::uint32_t{});
    case ComputeClass::i64:
      return body(std::int64_t{});
    case ComputeClass::u64:
      return body(std::uint64_t{});
    case ComputeClass::f32:
      return body(float{});
    case ComputeClass::f64:
      return body(double{});
  }
}

}  // namespace tilewright::cpu
