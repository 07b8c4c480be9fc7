#include "gpu/ops/gemm.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

// Products of matrices, launched as gemm_plan.cpp says.
namespace tilewright::gpu {

namespace {

/// What the length of a piece of k is a multiple of.
constexpr Size piece_step = 16;

Size count(Size size, Size part) { return (size + part - 1) / part; }

Size reach(Size rows, Size cols, Size ld, Size stride, Size batch) {
  if (rows == 0 || cols == 0) return 1;
  return (batch - 1) * stride + (rows - 1) * ld + cols;
}

std::uint32_t rounding_of(const GemmRequest& r) {
  return r.rounds() ? 1 + static_cast<std::uint32_t>(*r.rounding) : 0;
}

std::uint32_t bits(std::initializer_list<bool> flags) {
  std::uint32_t all = 0;
  for (bool flag : flags) all = all * 2 + (flag ? 1 : 0);
  return all;
}

}  // namespace

void GpuBackend::launch_gemm(const GemmRequest& r) {
  require(r.op, r.dtype);
  if (!lacking_feature(r.dtype).empty()) {
    throw Unsupported(text(r.op, ": ", device_->info().name,
                           " has no float64 in kernels; cast to float32, or compute it on the cpu "
                           "backend"));
  }
  const std::uint64_t most = device_->limits().max_binding_bytes;
  if (std::max({r.a.bytes, r.b.bytes, r.c.bytes}) > most && gemm_windows(r)) [[unlikely]]
    return;
  const Binding a = bind(r.op, r.a,
                         bytes_of(r.trans_a ? reach(r.k, r.m, r.lda, r.stride_a, r.batch_count)
                                            : reach(r.m, r.k, r.lda, r.stride_a, r.batch_count),
                                  r.dtype));
  const Binding b = bind(r.op, r.b,
                         bytes_of(r.trans_b ? reach(r.n, r.k, r.ldb, r.stride_b, r.batch_count)
                                            : reach(r.k, r.n, r.ldb, r.stride_b, r.batch_count),
                                  r.dtype));
  const Binding c =
      bind(r.op, r.c, bytes_of(reach(r.m, r.n, r.ldc, r.stride_c, r.batch_count), r.output_dtype));
  if (r.dtype == DType::float64) return multiply_doubles(r, a, b, c);
  if (r.output_dtype == DType::int32) {
    if (!multiply_byte_blocks(r, a, b, c)) multiply_bytes(r, a, b, c);
    return;
  }
  // Intel's GPUs have a kernel of their own, which reads by blocks.
  if (device_->limits().product_subgroup == 0 && is_by_rows(r)) {
    return multiply_rows(r, a, b, c, nullptr);
  }
  multiply_planned(r, a, b, c, nullptr);
}

void GpuBackend::multiply_planned(const GemmRequest& r, const Binding& a, const Binding& b,
                                  const Binding& c, const GemmEnd* end) {
  GemmOperand left{a, r.lda, r.stride_a, vectors_of_a(r), false};
  GemmOperand right{b, r.ldb, r.stride_b, vectors_of_b(r), false};
  const GemmPlan plan = plan_gemm(r);
  if (plan.split && plan.split->bytes <= scratch_limit()) {
    try {
      return multiply_split(r, *plan.split, a, b, c);
    } catch (const OutOfMemory&) {
      // In float32, which is only slower.
    }
  }
  if ((plan.packings || plan.blocks) && plan.packed_bytes <= scratch_limit()) {
    AllocationRef packed;
    try {
      packed = plan.blocks ? pack_blocks(r, *plan.blocks, left, right)
                           : pack(*plan.packings, r, left, right);
    } catch (const OutOfMemory&) {
      // The matrices are read as they are, which is only slower.
    }
    if (packed) {
      GemmRequest request = r;
      request.k = plan.blocks ? plan.blocks->k : plan.packings->k;
      return multiply_form(request, plan.packed, left, right, c, end);
    }
  }
  multiply_form(r, plan.loose, left, right, c, end);
}

void GpuBackend::multiply_doubles(const GemmRequest& r, const Binding& a, const Binding& b,
                                  const Binding& c) {
  constexpr Size tile = 64;
  const Size most = device_->limits().max_groups;
  const Size tiles = std::max(count(r.m, tile), count(r.n, tile));
  check_groups(r.op, tiles);
  struct {
    std::uint32_t m, n, k, first, a_row, a_deep, a_stride, b_deep, b_column, b_stride, ldc,
        stride_c, from_k;
    float alpha, beta;
  } params{u32(r.m),
           u32(r.n),
           0,
           0,
           u32(r.trans_a ? 1 : r.lda),
           u32(r.trans_a ? r.lda : 1),
           u32(r.stride_a),
           u32(r.trans_b ? 1 : r.ldb),
           u32(r.trans_b ? r.ldb : 1),
           u32(r.stride_b),
           u32(r.ldc),
           u32(r.stride_c),
           0,
           r.alpha,
           r.beta};
  const std::array<Binding, 3> bindings{a, b, c};
  // Software devices end loops after 65,535 turns, of all within a kernel.
  constexpr Size deepest = 1 << 15;
  const Size k = r.alpha == 0 ? 0 : r.k, parts = std::max<Size>(count(k, deepest), 1);
  for (Size step = 0; step < parts * count(r.batch_count, most); ++step) {
    const Size part = step % parts, first = step / parts * most;
    params.from_k = u32(part * deepest);
    params.k = u32(std::min(k, (part + 1) * deepest));
    params.beta = part == 0 ? r.beta : 1.0f;
    params.first = u32(first);
    run(KernelId::gemm_double, 0, params, bindings,
        {u32(count(r.n, tile)), u32(count(r.m, tile)), u32(std::min(most, r.batch_count - first))},
        [](TemplateVariables& v) { v["GROUP"] = std::int64_t{group_size}; });
  }
}

void GpuBackend::multiply_form(const GemmRequest& r, const GemmForm& form, const GemmOperand& a,
                               const GemmOperand& b, const Binding& c, const GemmEnd* end) {
  if (form.matrix) return multiply(r, form, form.matrix->pieces, a, b, c, end);
  if (form.ahead == 0) return multiply(r, form, form.pieces, a, b, c, end);
  GemmRequest part = r;
  part.m = form.ahead;
  multiply(part, form, form.pieces_ahead, a, b, c, end);
  part.m = r.m - form.ahead;
  GemmOperand rest = a;
  rest.binding = after(a.binding, bytes_of(r.trans_a ? form.ahead : form.ahead * a.ld, r.dtype));
  multiply(part, form, form.pieces, rest, b, after(c, bytes_of(form.ahead * r.ldc, r.output_dtype)),
           end);
}

void GpuBackend::multiply(const GemmRequest& r, const GemmForm& form, Size pieces_to_fill_gpu,
                          const GemmOperand& a, const GemmOperand& b, const Binding& c,
                          const GemmEnd* end) {
  const Size k = r.alpha == 0 ? 0 : r.k;
  const std::uint64_t products_bytes = bytes_of(r.m * r.n * r.batch_count, DType::float32);
  const Size wanted = affordable(pieces_to_fill_gpu, products_bytes);
  const Size step = form.matrix ? matrix_tiles[form.matrix->tile].bk : piece_step;
  const auto piece_of = [&](Size parts) {
    return std::max<Size>(count(count(k, parts), step) * step, step);
  };
  const Size piece = piece_of(wanted);
  const Size pieces = std::max<Size>(count(k, piece), 1);
  const auto multiply_into = [&](const GemmTarget& target) {
    if (form.matrix) {
      multiply_matrix(r, *form.matrix, a, b, target);
    } else if (form.tile) {
      multiply_tiles(r, *form.tile, a, b, target);
    } else {
      multiply_thin(r, a.binding, b.binding, target);
    }
  };
  const std::uint64_t scratch_bytes = products_bytes * static_cast<std::uint64_t>(pieces);
  // Lines of B along n lie in places of eight columns, which a gap may not cut.
  const bool gates = form.matrix && pieces == 1 && (r.trans_b || (end && end->gap % 8 == 0));
  const bool ends_apart =
      end != nullptr && (!(form.tile || form.matrix) || (end->gap != 0 && !gates) ||
                         !device_->limits().compiles_templates);
  AllocationRef scratch;
  if (ends_apart) {
    scratch = memory_->scratch(r.op, scratch_bytes);
  } else if (pieces > 1) {
    scratch = memory_->try_scratch(r.op, scratch_bytes);
  }
  if (!scratch) {
    return multiply_into(
        {c, r.output_dtype, r.ldc, r.stride_c, r.alpha, r.beta, 1, piece_of(1), end, form.largest});
  }
  const Binding products = bind(r.op, scratch, scratch_bytes);
  multiply_into(
      {products, DType::float32, r.n, r.m * r.n, 1.0f, 0.0f, pieces, piece, nullptr, form.largest});
  join_products(r, pieces, products, c, end);
}

void GpuBackend::join_products(const GemmRequest& r, Size pieces, const Binding& products,
                               const Binding& c, const GemmEnd* end) {
  const GemmEnd last = end ? *end : GemmEnd{products, false, Activation::none, 0, 0};
  const struct {
    std::uint32_t batches, m, n, gap, ldc, stride_c, pieces;
    float alpha, beta;
    std::uint32_t is_biased;
    float slope;
    std::uint32_t zero;
  } params{u32(r.batch_count),
           u32(r.m),
           u32(r.n),
           u32(last.gap),
           u32(r.ldc),
           u32(r.stride_c),
           u32(pieces),
           r.alpha,
           r.beta,
           last.is_biased ? 1u : 0u,
           last.slope,
           0};
  const std::array<Binding, 3> bindings{products, c, last.bias};
  const std::uint32_t variant = static_cast<std::uint32_t>(last.activation) * 4 +
                                bits({last.gap != 0, half_bit(r.output_dtype) != 0});
  run(KernelId::gemm_join, variant, params, bindings,
      cover(static_cast<std::uint64_t>(r.m * (r.n - last.gap) * r.batch_count), group_size),
      [&](TemplateVariables& v) {
        set_common(v, r.output_dtype);
        v["GATED"] = std::int64_t{last.gap != 0};
        v["ACTIVATION"] = std::string(to_string(last.activation));
      });
}

void GpuBackend::multiply_tiles(const GemmRequest& r, std::size_t tile_index, const GemmOperand& a,
                                const GemmOperand& b, const GemmTarget& target) {
  const GemmTile& tile = gemm_tiles[tile_index];
  const Size tiles_m = count(r.m, tile.bm);
  const Size tiles_n = count(r.n, tile.bn);
  const bool vector_c = whole_vectors(r.n, target.ld, target.stride);
  const bool small = r.m < tile.bm || r.n < tile.bn;
  const bool blocks = !small && (r.dtype == DType::float32 || r.trans_b || b.vectors);
  const GemmEnd* const end = target.end;
  const std::uint32_t ending = end ? 1 + static_cast<std::uint32_t>(end->activation) : 0;
  const std::uint32_t variant =
      ((static_cast<std::uint32_t>(tile_index) * 16 + ending) * 4 + rounding_of(r)) * 256 +
      bits({r.trans_a, r.trans_b, a.vectors, b.vectors, vector_c, small, r.dtype == DType::float16,
            target.dtype == DType::float16});
  const auto fill = [&](TemplateVariables& v) {
    const bool pad = tile.memory(1) <= device_->limits().local_memory_bytes;
    v = {{"BM", tile.bm},
         {"BN", tile.bn},
         {"BK", tile.bk},
         {"TM", tile.tm},
         {"TN", tile.tn},
         {"TA", std::int64_t{r.trans_a}},
         {"TB", std::int64_t{r.trans_b}},
         {"T", type_name(r.dtype)},
         {"TC", type_name(target.dtype)},
         {"VECTOR_A", std::int64_t{a.vectors}},
         {"VECTOR_B", std::int64_t{b.vectors}},
         {"VECTOR_C", std::int64_t{vector_c}},
         {"SMALL", std::int64_t{small}},
         {"SLICES", tile.slices},
         {"PAD", std::int64_t{pad}},
         {"ROUND", std::int64_t{rounding_of(r)}},
         {"END", std::int64_t{end != nullptr}},
         {"ACTIVATION", std::string(to_string(end ? end->activation : Activation::none))},
         {"SUBGROUP", std::int64_t{blocks ? device_->limits().product_subgroup : 0}}};
  };
  struct Params {
    std::uint32_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, tiles_m, tiles_n, pieces,
        piece, first, whole_tiles;
    float alpha, beta;
  } params{u32(r.m),
           u32(r.n),
           u32(r.alpha == 0 ? 0 : r.k),
           u32(a.ld),
           u32(b.ld),
           u32(target.ld),
           u32(a.stride),
           u32(b.stride),
           u32(target.stride),
           u32(tiles_m),
           u32(tiles_n),
           u32(target.pieces),
           u32(target.piece),
           0,
           bits({b.whole_tiles, a.whole_tiles}),
           target.alpha,
           target.beta};
  const std::array<Binding, 4> bindings{a.binding, b.binding, target.binding,
                                        end ? end->bias : a.binding};
  const auto tiles = cover(static_cast<std::uint64_t>(tiles_m * tiles_n), 1);
  const Size products = r.batch_count * target.pieces;
  const Size most = device_->limits().max_groups;
  for (Size first = 0; first < products; first += most) {
    params.first = u32(first);
    const std::array<std::uint32_t, 3> grid{tiles[0], u32(std::min(most, products - first)),
                                            tiles[1]};
    if (end == nullptr) {
      run(KernelId::gemm, variant, params, std::span(bindings).first(3), grid, fill);
      continue;
    }
    const struct {
      Params of_products;
      std::uint32_t is_biased;
      float slope;
      std::uint32_t zero;
    } with_end{params, end->is_biased ? 1u : 0u, end->slope, 0};
    run(KernelId::gemm, variant, with_end, bindings, grid, fill);
  }
}

void GpuBackend::multiply_thin(const GemmRequest& r, const Binding& a, const Binding& b,
                               const GemmTarget& target) {
  /// An operand by rows (of A) or columns (of B): the distance between them, and along k.
  struct Operand {
    const Binding& binding;
    Size extent, apart, step, stride;
  };
  const Operand rows{a, r.m, r.trans_a ? 1 : r.lda, r.trans_a ? r.lda : 1, r.stride_a};
  const Operand columns{b, r.n, r.trans_b ? r.ldb : 1, r.trans_b ? 1 : r.ldb, r.stride_b};
  const bool few_rows = r.m <= r.n;
  const Operand& few = few_rows ? rows : columns;
  const Operand& many = few_rows ? columns : rows;
  const bool deep_first = few_rows ? r.trans_b : !r.trans_a;
  const Size many_ld = deep_first ? many.apart : many.step;
  const bool vector = deep_first
                          ? few.step == 1 && whole_vectors(r.k, many_ld, many.stride) &&
                                (few.extent == 1 || few.apart % 4 == 0) && few.stride % 4 == 0
                          : whole_vectors(many.extent, many_ld, many.stride);
  const Size width = vector ? 4 : 1;
  const auto power = [](Size size) {
    return static_cast<Size>(std::bit_ceil(static_cast<std::size_t>(size)));
  };
  const Size each = power(few.extent);
  const Size lanes = deep_first ? std::clamp<Size>(power(count(target.piece, 16 * width)), 8, 64)
                                : std::clamp<Size>(power(count(many.extent, width)), 4, 32);
  const Size per_group = deep_first ? 2 * group_size / lanes : lanes * width;
  const std::uint32_t variant =
      (u32(each * 64 + lanes) * 4 + rounding_of(r)) * 16 +
      bits({deep_first, vector, r.dtype == DType::float16, target.dtype == DType::float16});
  struct {
    std::uint32_t few, many, k, few_ld, few_step, many_ld, c_few, c_many, stride_few, stride_many,
        stride_c, pieces, piece, first;
    float alpha, beta;
  } params{u32(few.extent),
           u32(many.extent),
           u32(r.alpha == 0 ? 0 : r.k),
           u32(few.apart),
           u32(few.step),
           u32(many_ld),
           u32(few_rows ? target.ld : 1),
           u32(few_rows ? 1 : target.ld),
           u32(few.stride),
           u32(many.stride),
           u32(target.stride),
           u32(target.pieces),
           u32(target.piece),
           0,
           target.alpha,
           target.beta};
  const std::array<Binding, 3> bindings{few.binding, many.binding, target.binding};
  const auto blocks =
      cover(static_cast<std::uint64_t>(many.extent), static_cast<std::uint64_t>(per_group));
  const Size products = r.batch_count * target.pieces;
  const Size most = device_->limits().max_groups;
  for (Size first = 0; first < products; first += most) {
    params.first = u32(first);
    run(KernelId::gemm_thin, variant, params, bindings,
        {blocks[0], u32(std::min(most, products - first)), blocks[1]}, [&](TemplateVariables& v) {
          set_common(v, r.dtype);
          v["TC"] = type_name(target.dtype);
          v["FEW"] = each;
          v["LANES"] = lanes;
          v["DEEP_FIRST"] = std::int64_t{deep_first};
          v["VECTOR"] = std::int64_t{vector};
          v["ROUND"] = std::int64_t{rounding_of(r)};
          v["SUBGROUP"] = std::int64_t{device_->limits().product_subgroup};
        });
  }
}

}  // namespace tilewright::gpu
