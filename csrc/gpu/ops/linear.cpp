#include "core/ops/linear.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "gpu/backend.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/ops/windows.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

/// Elements that a work-item reads at once: 16 bytes.
Size width_of(DType dtype) { return dtype == DType::float16 ? 8 : 4; }

std::size_t power(Size size) { return std::bit_ceil(static_cast<std::size_t>(size)); }

/// Work-items for each of so many walks of `steps` reads: those that fill the GPU, if each has a
/// few to do.
std::uint32_t lanes_for(Size walks, Size steps, Size units) {
  constexpr Size enough_items = 1 << 16;
  constexpr std::size_t least = 8;
  const auto enough = static_cast<std::size_t>(filling(enough_items, units));
  const std::size_t most = std::clamp<std::size_t>(power(steps / 4), least, group_size);
  std::size_t lanes = std::min<std::size_t>(most, 16);
  while (lanes < most && static_cast<std::size_t>(walks) * lanes < enough) lanes *= 2;
  return static_cast<std::uint32_t>(lanes);
}

}  // namespace

bool GpuBackend::is_by_rows(const GemmRequest& r) const {
  const bool few_rows = r.m <= r.n;
  const Size few = few_rows ? r.m : r.n;
  const Size few_ld = few_rows ? r.lda : r.ldb, many_ld = few_rows ? r.ldb : r.lda;
  const auto whole = [&](Size size) { return size % width_of(r.dtype) == 0; };
  return few <= most_thin && r.dtype == r.output_dtype && !r.rounds() && !r.trans_a && r.trans_b &&
         r.k > 0 && r.alpha != 0 && whole(r.k) && whole(many_ld) && (few == 1 || whole(few_ld)) &&
         whole(r.stride_a) && whole(r.stride_b);
}

void GpuBackend::multiply_rows(const GemmRequest& r, const Binding& a, const Binding& b,
                               const Binding& c, const GemmEnd* end, const GemmNorm* norm) {
  const bool few_rows = r.m <= r.n;
  const Size gap = end ? end->gap : 0;
  const Size few = few_rows ? r.m : r.n, many = (few_rows ? r.n : r.m) - gap;
  const Size each = static_cast<Size>(power(few));
  const bool is_compiled = !device_->limits().compiles_templates;
  const Size rows = is_compiled || each == most_thin ? 2 : 4;
  const Size results = gap ? rows / 2 : rows;
  const std::uint32_t lanes = lanes_for((many + results - 1) / results * r.batch_count,
                                        r.k / width_of(r.dtype), device_->limits().planned_units);
  const Activation activation = end ? end->activation : Activation::none;
  const std::uint32_t normed = !norm ? 0 : norm->is_weighted ? 2 : 1;
  const std::uint32_t variant =
      ((((static_cast<std::uint32_t>(activation) * 3 + normed) * 8 + u32(each)) * 8 + u32(rows)) *
           4 +
       (gap ? 2 : 0) + half_bit(r.dtype)) *
          512 +
      lanes;
  struct {
    std::uint32_t few, many, gap, k, few_ld, many_ld, c_few, c_many, stride_few, stride_many,
        stride_c, first;
    float alpha, beta;
    std::uint32_t is_biased;
    float slope;
    std::uint32_t zero;
    float eps;
  } params{u32(few),
           u32(many),
           u32(gap),
           u32(r.k),
           u32(few_rows ? r.lda : r.ldb),
           u32(few_rows ? r.ldb : r.lda),
           u32(few_rows ? r.ldc : 1),
           u32(few_rows ? 1 : r.ldc),
           u32(few_rows ? r.stride_a : r.stride_b),
           u32(few_rows ? r.stride_b : r.stride_a),
           u32(r.stride_c),
           0,
           r.alpha,
           r.beta,
           end && end->is_biased ? 1u : 0u,
           end ? end->slope : 0,
           0,
           norm ? norm->eps : 0};
  const Binding& of_few = few_rows ? a : b;
  const std::array<Binding, 5> bindings{of_few, few_rows ? b : a, c, end ? end->bias : of_few,
                                        norm ? norm->weight : of_few};
  const auto blocks = cover(static_cast<std::uint64_t>(many),
                            static_cast<std::uint64_t>(results) * (group_size / lanes));
  const Size most = device_->limits().max_groups;
  for (Size first = 0; first < r.batch_count; first += most) {
    params.first = u32(first);
    run(KernelId::gemm_rows, variant, params, std::span(bindings).first(norm ? 5 : 4),
        {blocks[0], u32(std::min(most, r.batch_count - first)), blocks[1]},
        [&](TemplateVariables& v) {
          set_common(v, r.dtype);
          v["FEW"] = each;
          v["ROWS"] = rows;
          v["LEAN"] = std::int64_t{is_compiled};
          v["LANES"] = std::int64_t{lanes};
          v["GATED"] = std::int64_t{gap != 0};
          v["NORM"] = std::int64_t{norm != nullptr};
          v["WEIGHTED"] = std::int64_t{normed == 2};
          v["ACTIVATION"] = std::string(to_string(activation));
        });
  }
}

void GpuBackend::launch_linear(const LinearRequest& r) {
  constexpr std::string_view op = "linear";
  require(op, r.dtype);
  const std::uint64_t most = device_->limits().max_binding_bytes;
  if (std::max({r.x.bytes, r.weights.bytes, r.out.bytes}) > most && linear_windows(r)) [[unlikely]]
    return;
  const auto matrix = [&](const BufferRange& range, Size rows, Size columns, Size ld) {
    return bind(op, range, bytes_of((rows - 1) * ld + columns, r.dtype));
  };
  const Size n = r.products();
  const Binding out = matrix(r.out, r.m, r.n, r.ldo);
  Binding x = matrix(r.x, r.m, r.k, r.ldx);
  const Binding weights =
      r.trans_weights ? matrix(r.weights, n, r.k, r.ldw) : matrix(r.weights, r.k, n, r.ldw);
  const bool is_biased{r.bias};
  const GemmEnd end{is_biased ? bind(op, r.bias, bytes_of(n, r.dtype)) : x, is_biased, r.activation,
                    r.slope, r.is_gated ? r.n : 0};
  const float beta = r.adds ? 1 : 0;
  GemmRequest product{op,    false,     r.trans_weights, r.m,     n,           r.k,   1, r.x,
                      r.ldx, r.weights, r.ldw,           beta,    r.out,       r.ldo, 0, 0,
                      0,     1,         r.dtype,         r.dtype, std::nullopt};
  const bool by_rows = r.m <= n && is_by_rows(product);
  // What is compiled for Intel's GPUs norms fewer, for their registers.
  const Size most_normed = device_->limits().compiles_templates ? most_thin : most_thin / 2;
  if (by_rows && r.norm.is_asked && r.m <= most_normed) {
    const bool is_weighted{r.norm.weight};
    const GemmNorm norm{is_weighted ? bind(op, r.norm.weight, bytes_of(r.k, r.dtype)) : x,
                        is_weighted, r.norm.eps};
    return multiply_rows(product, x, weights, out, &end, &norm);
  }
  AllocationRef normed;
  if (r.norm.is_asked) {
    normed = normed_rows(op, r.norm, r.x, r.m, r.k, r.ldx, r.dtype);
    x = bind(op, normed, bytes_of(r.m * r.k, r.dtype));
    product.lda = r.k;
  }
  if (by_rows) return multiply_rows(product, x, weights, out, &end);
  // Products that belong together are kept until both are there, those of so many rows at a time.
  const Size rows = kept_rows(device_->limits(), r.m, n, bytes_of(product.lda, r.dtype),
                              bytes_of(r.ldo, r.dtype));
  if (rows == 0) no_window(op, bytes_of(r.m * n, DType::float32), device_->limits());
  for (Size row = 0; row < r.m; row += rows) {
    product.m = std::min(rows, r.m - row);
    multiply_planned(product, after(x, bytes_of(row * product.lda, r.dtype)), weights,
                     after(out, bytes_of(row * r.ldo, r.dtype)), &end);
  }
}

}  // namespace tilewright::gpu
