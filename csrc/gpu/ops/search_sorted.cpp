#include <array>
#include <bit>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

/// Enough workgroups for the measured GPU.
constexpr Size enough_groups = 512;
enum class KeyKind : std::uint8_t { natural, integer, real, truth };

KeyKind kind_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return KeyKind::truth;
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
      return KeyKind::integer;
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      return KeyKind::natural;
    default:
      return KeyKind::real;
  }
}

/// Bits of a float's highest word, filled up from below, that are not its sign and exponent.
std::uint32_t mantissa_of(DType dtype) {
  if (dtype == DType::float16) return 26;
  return dtype == DType::float64 ? 20 : 23;
}

}  // namespace

void GpuBackend::launch_search_sorted(const SearchRequest& r) {
  constexpr std::string_view call = "search_sorted";
  const auto bytes = static_cast<std::uint32_t>(size_of(r.dtype));
  const auto kind = static_cast<std::uint32_t>(kind_of(r.dtype));
  const std::uint32_t mantissa = mantissa_of(r.dtype);
  const bool wide = r.index_dtype == DType::int64;
  // Two values a work-item where there are workgroups enough even so.
  const Size enough = filling(enough_groups, device_->limits().planned_units) * group_size;
  const Size items = r.count >= 4 * enough ? 2 : 1;
  const Size stride = r.n / group_size + 1;
  // The first step of those that come to the stride.
  const auto half = std::bit_ceil(static_cast<std::uint64_t>(stride)) / 2;
  const std::array<std::uint32_t, 4> params{u32(r.n), u32(r.count), u32(stride),
                                            static_cast<std::uint32_t>(half)};
  const std::array<Binding, 3> bindings{bind(call, r.sorted, bytes_of(r.n, r.dtype)),
                                        bind(call, r.values, bytes_of(r.count, r.dtype)),
                                        bind(call, r.output, bytes_of(r.count, r.index_dtype))};
  run(KernelId::search_sorted,
      bytes | kind << 4 | mantissa << 6 | (r.right ? 1u : 0u) << 11 | (wide ? 1u : 0u) << 12 |
          static_cast<std::uint32_t>(items) << 13,
      params, bindings,
      cover(static_cast<std::uint64_t>(r.count), static_cast<std::uint64_t>(items * group_size)),
      [&](TemplateVariables& v) {
        v["GROUP"] = std::int64_t{group_size};
        v["BYTES"] = std::int64_t{bytes};
        v["KIND"] = std::int64_t{kind};
        v["MANTISSA"] = std::int64_t{mantissa};
        v["RIGHT"] = std::int64_t{r.right};
        v["WIDE"] = std::int64_t{wide};
        v["ITEMS"] = std::int64_t{items};
      });
}

}  // namespace tilewright::gpu
