#include "core/ops/dequantize.hpp"

#include <algorithm>

#include "cpu/convert.hpp"
#include "cpu/elements.hpp"
#include "cpu/ops/quantized.hpp"

namespace tilewright::cpu {

void CpuBackend::do_dequantize(const DequantizeRequest& r) {
  const PackedWeights from = packed_weights(r.packed, r.format, r.groups);
  constexpr auto group = static_cast<std::size_t>(quant_group);
  constexpr std::size_t at_once = 32;
  with_element_type(r.dtype, [&]<class T>(T) {
    T* const output = data<T>(r.output);
    parallel_for(static_cast<std::size_t>(r.groups), element_grain / group,
                 [&](std::size_t begin, std::size_t end) {
                   float values[at_once * group];
                   for (std::size_t first = begin; first < end; first += at_once) {
                     const std::size_t count = std::min(at_once, end - first);
                     quantized_table().decode(r.format, from, first, count, values);
                     from_float32(values, output + first * group, count * group);
                   }
                 });
  });
}

}  // namespace tilewright::cpu
