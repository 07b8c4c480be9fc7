#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "core/class_lines.hpp"
#include "core/text.hpp"
#include "gpu/device.hpp"
#include "gpu/plan.hpp"
#include "gpu/stored_floats.hpp"
#include "gpu/template.hpp"
#include "tilewright/error.hpp"

// How kernels walk lines of scores of classes: class_sums.wgsl.
namespace tilewright::gpu {

/// A number as the low and the high word of what a kernel computes in.
inline std::array<std::uint32_t, 2> words_of(double number, DType dtype) {
  if (dtype != DType::float64) return {std::bit_cast<std::uint32_t>(static_cast<float>(number)), 0};
  const auto bits = std::bit_cast<std::uint64_t>(number);
  return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
}
inline std::array<std::uint32_t, 2> words_of(Size number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
}

/// What sums are stored in.
inline std::uint64_t bytes_of_sums(Size count, DType dtype) {
  return static_cast<std::uint64_t>(count) * (dtype == DType::float64 ? 8 : 4);
}

struct ClassForm {
  bool rows, vector, has_weights, smooth, wide_targets;
  bool held;              ///< registers hold what a work-item has of a line
  std::uint32_t walkers;  ///< work-items of a line
  std::uint32_t chunk;    ///< vectors of four that one reads before it uses them
  DType dtype;

  std::uint32_t lines_of_group() const { return group_size / walkers; }
  std::uint32_t variant() const {
    std::uint32_t all = static_cast<std::uint32_t>(dtype);
    for (const bool one : {rows, vector, has_weights, smooth, wide_targets, held}) {
      all = all << 1 | (one ? 1u : 0u);
    }
    return (all << 4 | u32(std::countr_zero(walkers))) << 4 | chunk;
  }
  /// For cross_entropy_total.wgsl.
  void fill_targets(TemplateVariables& v) const {
    set_common(v, dtype);
    v["T"] = stored_name(dtype);
    v["WEIGHTS"] = std::int64_t{has_weights};
    v["LONG"] = std::int64_t{wide_targets};
  }
  void fill(TemplateVariables& v) const {
    fill_targets(v);
    v["ROWS"] = std::int64_t{rows};
    v["VECTOR"] = std::int64_t{vector};
    v["SMOOTH"] = std::int64_t{smooth};
    v["HELD"] = std::int64_t{held};
    v["WALKERS"] = std::int64_t{walkers};
    v["CHUNK"] = std::int64_t{chunk};
  }
};

/// `units`: how many of them the device is planned for.
inline ClassForm class_form(const ClassLines& r, bool compiles_templates, Size units) {
  ClassForm form{};
  form.rows = r.inner == 1;
  form.vector = form.rows && r.classes % 4 == 0 && r.dtype != DType::float64;
  form.has_weights = static_cast<bool>(r.weights);
  form.smooth = r.smoothing != 0;
  form.wide_targets = r.target_dtype == DType::int64;
  form.dtype = r.dtype;
  // Of a line each has some scores at least, and more where there are enough lines.
  constexpr Size least_each = 8, most_each = 32, enough_items_of_unit = 1024;
  const Size most_walkers = form.rows ? group_size : 8;
  const Size wanted = form.rows ? (r.classes + most_each - 1) / most_each : 1;
  Size walkers = std::min<Size>(
      static_cast<Size>(std::bit_ceil(static_cast<std::uint64_t>(wanted))), most_walkers);
  while (walkers < most_walkers && r.lines() * walkers < units * enough_items_of_unit &&
         2 * walkers * least_each <= r.classes) {
    walkers *= 2;
  }
  form.walkers = u32(walkers);
  constexpr Size most_held = 8;
  const Size vectors = (r.classes + 4 * walkers - 1) / (4 * walkers);
  form.held = compiles_templates && vectors <= most_held;
  form.chunk = form.held ? u32(vectors) : 2;
  return form;
}

/// float64 needs a device that has its exponentials.
inline void require_class_lines(std::string_view op, const ClassLines& r, std::string_view lacking,
                                const DeviceInfo& device, bool compiles_templates) {
  require_stored(op, lacking, device.name);
  if (r.dtype == DType::float64 && compiles_templates) {
    throw Unsupported(text(op, ": ", device.name, " has no exponentials of float64 in kernels; ",
                           "cast to float32, or compute it on the cpu backend"));
  }
}

}  // namespace tilewright::gpu
