#include "core/ops/concat.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu/backend.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::size_t bytes_of_share = std::size_t{1} << 18;

}  // namespace

void CpuBackend::do_concat(const ConcatRequest& r) {
  const std::size_t item = size_of(r.dtype);
  const auto bytes_of = [&](Size elements) { return static_cast<std::size_t>(elements) * item; };
  const auto start_of = [&](const MapRequest::Operand& operand) {
    return data<std::byte>(operand.allocation) + bytes_of(operand.offset);
  };
  const std::size_t length = bytes_of(r.length);
  std::byte* const output = start_of(r.output);
  parallel_for(length * static_cast<std::size_t>(r.rows), bytes_of_share,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t at = begin; at < end;) {
                   const std::size_t row = at / length;
                   std::size_t first = row * length;  // of the part, among the output's bytes
                   for (const ConcatPart& part : r.parts) {
                     const std::size_t own = bytes_of(part.length), past = first + own;
                     if (at >= end) return;
                     if (at < past) {
                       const std::size_t count = std::min(past, end) - at;
                       std::memcpy(output + at, start_of(part.operand) + row * own + at - first,
                                   count);
                       at += count;
                     }
                     first = past;
                   }
                 }
               });
}

}  // namespace tilewright::cpu
