// Quantised weights of every format on the CPU backend, in buffers without a byte to spare. What
// the formats mean is held by tests/conformance; this is what runs under the sanitizers.

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu_device.hpp"
#include "tilewright/quantized.hpp"

namespace tilewright {
namespace {

constexpr std::array formats{QuantFormat::q8_0, QuantFormat::q4_0, QuantFormat::q4_1,
                             QuantFormat::q5_0, QuantFormat::q5_1, QuantFormat::q2_k,
                             QuantFormat::q3_k, QuantFormat::q4_k, QuantFormat::q5_k,
                             QuantFormat::q6_k, QuantFormat::mxfp4};

/// The same numbers each time, from 0 to 255.
std::uint32_t next_byte() {
  static std::uint32_t seed = 1;
  seed = seed * 1664525u + 1013904223u;
  return seed >> 24;
}

/// Planes whose q is anything and whose scales are about 1.
std::vector<std::uint8_t> packed(QuantFormat format, Size groups) {
  const QuantPlanes at = quant_planes(format, groups);
  const QuantLayout layout = quant_layout(format);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(at.bytes));
  const auto fill = [&](Size begin, Size end, const auto& byte) {
    for (Size i = begin; i < end; ++i) bytes[static_cast<std::size_t>(i)] = byte(i);
  };
  const auto any = [](Size) { return static_cast<std::uint8_t>(next_byte()); };
  const auto one = [](Size i) { return static_cast<std::uint8_t>(i % 2 == 1 ? 0x3c : 0); };
  const auto small = [](Size) { return std::uint8_t{0x21}; };
  const auto exponent = [](Size) { return std::uint8_t{128}; };
  fill(0, at.scales, any);
  if (format == QuantFormat::mxfp4) {
    fill(at.scales, at.outer, exponent);
  } else if (layout.outer > 0) {
    fill(at.scales, at.outer, small);
  } else {
    fill(at.scales, at.outer, one);
  }
  fill(at.outer, at.bytes, one);
  return bytes;
}

TEST_CASE("quantised weights: planes follow each other on whole lines of 256 bytes") {
  for (const QuantFormat format : formats) {
    const QuantPlanes at = quant_planes(format, 8 * 7);
    CHECK(at.low == 0);
    for (const Size place : {at.high, at.scales, at.outer, at.bytes}) {
      CHECK(place % quant_plane_alignment == 0);
    }
    CHECK(at.high <= at.scales);
    CHECK(at.scales < at.outer);
    CHECK((at.bytes > at.outer) == (quant_layout(format).outer > 0));
    CHECK(quantized_bytes(format, 7, 256) == at.bytes);
    CHECK(quantized_bytes(format, 0, 256) == 0);
  }
  // 4.5 bits each, and what aligns.
  CHECK(quantized_bytes(QuantFormat::q4_0, 4096, 11008) == 4096 * 11008 / 32 * 18);
}

TEST_CASE("quantised weights: q8_0 is its scale times its bytes less 128") {
  const Cpu cpu;
  const std::vector<std::uint8_t> bytes = packed(QuantFormat::q8_0, 3);
  const Buffer weights = cpu.put(bytes), values = cpu.room(96);
  cpu->dequantize(weights, values, QuantFormat::q8_0, 1, 96);
  const std::vector<float> got = cpu.get(values);
  for (std::size_t i = 0; i < 96; ++i) {
    // Byte c of word j is element 4 j + c.
    CHECK(got[i] == static_cast<float>(bytes[i]) - 128.0f);
  }
}

TEST_CASE("quantised weights: products are those of what they stand for") {
  const Cpu cpu;
  for (const QuantFormat format : formats) {
    CAPTURE(static_cast<int>(format));
    const Size n = 5, k = 3 * 256;
    const Buffer weights = cpu.put(packed(format, n * k / quant_group)), values = cpu.room(n * k);
    cpu->dequantize(weights, values, format, n, k);
    const std::vector<float> w = cpu.get(values);
    for (const Size m : {1, 3, 17}) {
      std::vector<float> x(static_cast<std::size_t>(m * k));
      for (float& one : x) one = static_cast<float>(next_byte()) / 256.0f - 0.5f;
      const Buffer input = cpu.put(x), output = cpu.room(m * n);
      cpu->quantized_matmul(input, weights, output, format, m, n, k, k, n);
      const std::vector<float> y = cpu.get(output);
      for (Size i = 0; i < m; ++i) {
        for (Size j = 0; j < n; ++j) {
          double sum = 0, size = 0;
          for (Size at = 0; at < k; ++at) {
            const double product = double{x[static_cast<std::size_t>(i * k + at)]} *
                                   double{w[static_cast<std::size_t>(j * k + at)]};
            sum += product;
            size += product < 0 ? -product : product;
          }
          const double off = double{y[static_cast<std::size_t>(i * n + j)]} - sum;
          // As many roundings as there are products.
          CHECK((off < 0 ? -off : off) <= 5e-5 * size);
        }
      }
      cpu->free(input);
      cpu->free(output);
    }
    cpu->free(weights);
    cpu->free(values);
  }
}

}  // namespace
}  // namespace tilewright
