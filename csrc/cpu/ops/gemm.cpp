#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/lapack.hpp"
#include "cpu/openblas.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr Size blas_max = std::numeric_limits<int>::max();
/// Below this many multiply-adds a second thread costs more than it brings.
constexpr Size parallel_threshold = 80 * 80 * 80;
/// The block of a product whose operands are converted on the way: its panels stay in the cache.
constexpr Size block_m = 256, block_n = 512, block_k = 256;

constexpr Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

/// A product's C, cut into blocks of block_m x block_n.
struct Grid {
  Size block_m, block_n, rows, columns;

  Grid(Size m, Size n, Size block_m, Size block_n)
      : block_m(block_m),
        block_n(block_n),
        rows(ceil_div(m, block_m)),
        columns(ceil_div(n, block_n)) {}

  Size blocks() const { return rows * columns; }
};

/// About `blocks` blocks of whole rows and columns of C, shaped so that little of A and B is read
/// twice; rows are cut where columns would do as well.
Grid cut(Size m, Size n, Size blocks) {
  constexpr Size granule = 16;
  Size best_rows = 1;
  double best_cost = std::numeric_limits<double>::infinity();
  for (Size rows = 1; rows <= blocks; ++rows) {
    const Size columns = ceil_div(blocks, rows);
    if (rows > 1 && (m < rows * granule || rows * columns > blocks + blocks / 4)) continue;
    if (columns > 1 && n < columns * granule) continue;
    const double cost =
        static_cast<double>(m) * static_cast<double>(columns) + static_cast<double>(n * rows);
    if (cost <= best_cost) {
      best_cost = cost;
      best_rows = rows;
    }
  }
  if (best_cost == std::numeric_limits<double>::infinity()) {
    return Grid(m, n, std::min(m, blas_max), std::min(n, blas_max));
  }
  const auto part = [](Size size, Size parts) {
    return std::min(ceil_div(ceil_div(size, parts), granule) * granule, blas_max);
  };
  return Grid(m, n, part(m, best_rows), part(n, ceil_div(blocks, best_rows)));
}

/// Calls body(batch, row, column, rows, columns) for every block of every product.
template <class Body>
void for_each_block(const GemmRequest& r, const Grid& grid, bool parallel, Body&& body) {
  const auto one = [&](std::size_t task) {
    const Size index = static_cast<Size>(task);
    const Size batch = index / grid.blocks();
    const Size block = index % grid.blocks();
    const Size row = block / grid.columns * grid.block_m;
    const Size column = block % grid.columns * grid.block_n;
    body(batch, row, column, std::min(grid.block_m, r.m - row),
         std::min(grid.block_n, r.n - column));
  };
  const auto blocks = static_cast<std::size_t>(r.batch_count * grid.blocks());
  // A task takes several blocks where there are very many.
  const std::size_t group = parallel ? blocks / (16 * thread_count()) + 1 : blocks;
  const auto some = [&](std::size_t task) {
    for (std::size_t i = task * group; i < std::min(blocks, (task + 1) * group); ++i) one(i);
  };
  parallel_tasks((blocks + group - 1) / group, some);
}

/// Row * beta, with nothing read where beta is 0.
template <class T>
void scale(T* row, Size n, float beta) {
  for (Size j = 0; j < n; ++j) row[j] = beta == 0 ? 0 : beta * row[j];
}

void scale(Half* row, Size n, float beta) {
  if (beta == 0) {
    std::fill_n(row, n, Half{0});
    return;
  }
  constexpr Size step = 256;
  float wide[step];
  for (Size j = 0; j < n; j += step) {
    const auto count = static_cast<std::size_t>(std::min(step, n - j));
    to_float32(row + j, wide, count);
    scale(wide, static_cast<Size>(count), beta);
    from_float32(wide, row + j, count);
  }
}

template <class Output>
void scale_output(const GemmRequest& r) {
  if (r.beta == 1) return;
  const Size grain = std::max<Size>(1, (1 << 15) / r.n);
  parallel_for(static_cast<std::size_t>(r.batch_count * r.m), static_cast<std::size_t>(grain),
               [&](std::size_t begin, std::size_t end) {
                 for (Size i = static_cast<Size>(begin); i < static_cast<Size>(end); ++i) {
                   scale(data<Output>(r.c) + i / r.m * r.stride_c + i % r.m * r.ldc, r.n, r.beta);
                 }
               });
}

/// Float32 straight from the buffers.
void multiply_direct(const GemmRequest& r) {
  const Matrix a{data<float>(r.a), r.lda, r.trans_a};
  const Matrix b{data<float>(r.b), r.ldb, r.trans_b};
  float* const c = data<float>(r.c);
  const double work = static_cast<double>(r.m) * static_cast<double>(r.n) *
                      static_cast<double>(r.k) * static_cast<double>(r.batch_count);
  const Size threads = static_cast<Size>(thread_count());
  const bool parallel = threads > 1 && work > parallel_threshold;
  const Size blocks = parallel ? ceil_div(threads, r.batch_count) : 1;
  for_each_block(r, cut(r.m, r.n, blocks), parallel,
                 [&](Size batch, Size row, Size column, Size rows, Size columns) {
                   Matrix a_part = a.from(row, 0), b_part = b.from(0, column);
                   a_part.data += batch * r.stride_a;
                   b_part.data += batch * r.stride_b;
                   float* const c_part = c + batch * r.stride_c + row * r.ldc + column;
                   for (Size k = 0; k < r.k; k += blas_max) {
                     multiply(rows, columns, std::min(blas_max, r.k - k), r.alpha,
                              a_part.from(0, k), b_part.from(k, 0), k == 0 ? r.beta : 1.0f, c_part,
                              r.ldc);
                   }
                 });
}

/// Float64 straight from the buffers.
void multiply_float64(GemmRequest r) {
  // Of a single row it says nothing.
  if ((r.trans_a ? r.k : r.m) == 1) r.lda = r.trans_a ? r.m : r.k;
  if ((r.trans_b ? r.n : r.k) == 1) r.ldb = r.trans_b ? r.k : r.n;
  if (r.m == 1) r.ldc = r.n;
  for (const Size ld : {r.lda, r.ldb, r.ldc}) {
    if (ld > blas_max) {
      throw Unsupported(text(r.op, ": a leading dimension is ", ld, ", of float64 at most ",
                             blas_max, "; pack the rows closer"));
    }
  }
  const double work = static_cast<double>(r.m) * static_cast<double>(r.n) *
                      static_cast<double>(r.k) * static_cast<double>(r.batch_count);
  const Size threads = static_cast<Size>(thread_count());
  const bool parallel = threads > 1 && work > parallel_threshold;
  const Size blocks = parallel ? ceil_div(threads, r.batch_count) : 1;
  const auto part = [](const BufferRange& range, Size ld, bool transposed, Size row, Size column) {
    return data<double>(range) + (transposed ? column * ld + row : row * ld + column);
  };
  for_each_block(
      r, cut(r.m, r.n, blocks), parallel,
      [&](Size batch, Size row, Size column, Size rows, Size columns) {
        const double* const a = part(r.a, r.lda, r.trans_a, row, 0);
        const double* const b = part(r.b, r.ldb, r.trans_b, 0, column);
        double* const c = data<double>(r.c) + batch * r.stride_c + row * r.ldc + column;
        for (Size k = 0; k < r.k; k += blas_max) {
          blas_gemm(r.trans_a ? transposed : as_it_is, r.trans_b ? transposed : as_it_is,
                    static_cast<int>(rows), static_cast<int>(columns),
                    static_cast<int>(std::min(blas_max, r.k - k)), static_cast<double>(r.alpha),
                    a + batch * r.stride_a + (r.trans_a ? k * r.lda : k), static_cast<int>(r.lda),
                    b + batch * r.stride_b + (r.trans_b ? k : k * r.ldb), static_cast<int>(r.ldb),
                    k == 0 ? static_cast<double>(r.beta) : 1.0, c, static_cast<int>(r.ldc));
        }
      });
}

/// Copies part of a matrix as it is stored into a packed panel of float32, converted by `load`.
template <class Input, class Load>
Matrix pack(const Input* from, Size ld, bool transposed, Size row, Size column, Size rows,
            Size columns, float* panel, Load load) {
  const Size lines = transposed ? columns : rows;
  const Size length = transposed ? rows : columns;
  from += transposed ? column * ld + row : row * ld + column;
  for (Size i = 0; i < lines; ++i) {
    load(from + i * ld, panel + i * length, static_cast<std::size_t>(length));
  }
  return {panel, length, transposed};
}

/// c = sums + beta * c for a row.
void store(const float* sums, float beta, float* c, Size n) {
  for (Size j = 0; j < n; ++j) c[j] = beta == 0 ? sums[j] : sums[j] + beta * c[j];
}

void store(const float* sums, float beta, Half* c, Size n) {
  constexpr Size step = 256;
  float wide[step];
  for (Size j = 0; j < n; j += step) {
    const auto count = static_cast<std::size_t>(std::min(step, n - j));
    if (beta == 0) {
      from_float32(sums + j, c + j, count);
      continue;
    }
    to_float32(c + j, wide, count);
    for (std::size_t x = 0; x < count; ++x)
      wide[x] = sums[j + static_cast<Size>(x)] + beta * wide[x];
    from_float32(wide, c + j, count);
  }
}

float to_float(float x) { return x; }
float to_float(Half x) {
  float wide = 0;
  to_float32(&x, &wide, 1);
  return wide;
}

/// Rows that are multiplied by each few columns while these are in the nearest cache.
constexpr Size most_few = 64, near_elements = Size{1} << 18;

/// Whether rows are few and columns lie side by side, which OpenBLAS would pack first. Of float32
/// that pays where columns are so long that to add up the sums of lanes takes less.
bool is_by_columns(const GemmRequest& r) {
  constexpr Size least_of_row = 4;
  if (r.dtype == DType::float32 && r.k < least_of_row * r.m) return false;
  const bool is_few = r.m <= most_few / 2 || (r.m <= most_few && r.m * r.k <= near_elements);
  return is_few && r.batch_count == 1 && !r.trans_a && r.trans_b;
}

template <class Input, class Output>
void multiply_by_columns(const GemmRequest& r, MemoryPool& pool) {
  constexpr bool is_half = std::is_same_v<Input, Half>;
  const auto m = static_cast<std::size_t>(r.m), k = static_cast<std::size_t>(r.k);
  const auto ldb = static_cast<std::size_t>(r.ldb);
  OpScratch all(pool, r.op, is_half ? Scratch::rounded(m * k) : 0);
  Scratch scratch(all);
  const float* rows;
  std::size_t apart = k;
  if constexpr (is_half) {
    float* const wide = scratch.take(m * k);
    for (std::size_t i = 0; i < m; ++i) {
      to_float32(data<Half>(r.a) + static_cast<Size>(i) * r.lda, wide + i * k, k);
    }
    rows = wide;
  } else {
    rows = data<float>(r.a);
    apart = static_cast<std::size_t>(r.lda);
  }
  const auto grain = static_cast<std::size_t>(parallel_threshold / 8 / (r.m * r.k) + 1);
  parallel_for(static_cast<std::size_t>(r.n), grain, [&](std::size_t begin, std::size_t end) {
    constexpr std::size_t room = 2048;
    float sums[room];
    const std::size_t columns = room / m / 4 * 4;
    for (std::size_t j = begin; j < end; j += columns) {
      const std::size_t count = std::min(columns, end - j);
      row_kernels<Input>().dot_rows_of_several(data<Input>(r.b) + j * ldb, count, ldb, rows, m,
                                               apart, k, r.alpha, sums, columns);
      for (std::size_t i = 0; i < m; ++i) {
        store(sums + i * columns, r.beta,
              data<Output>(r.c) + static_cast<Size>(i) * r.ldc + static_cast<Size>(j),
              static_cast<Size>(count));
      }
    }
  });
}

/// Whether rows are few and those of a B that no near cache holds lie side by side: it is read
/// once, some rows of it at a time, where OpenBLAS goes down columns or packs it first.
bool is_by_rows(const GemmRequest& r) {
  constexpr Size least = Size{1} << 19;
  const Size most = r.n * r.k >= 8 * least ? 8 : 6;
  return r.m <= most && !r.trans_b && (!r.trans_a || r.m == 1) && r.n * r.k >= least;
}

/// Columns, and rows of B, that are met at a time; and rows at most.
constexpr std::size_t near_columns = 2048, near_rows = 16, most_rows = 8;

template <class Input, class Output>
void multiply_by_rows(const GemmRequest& r) {
  const auto n = static_cast<std::size_t>(r.n), k = static_cast<std::size_t>(r.k);
  const auto m = static_cast<std::size_t>(r.m), ldb = static_cast<std::size_t>(r.ldb);
  const Size a_step = r.trans_a ? r.lda : 1;
  const auto grain = static_cast<std::size_t>(parallel_threshold / 8 / (r.m * r.k) + 1);
  for (Size batch = 0; batch < r.batch_count; ++batch) {
    const Input* const a = data<Input>(r.a) + batch * r.stride_a;
    const Input* const b = data<Input>(r.b) + batch * r.stride_b;
    Output* const c = data<Output>(r.c) + batch * r.stride_c;
    parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
      alignas(64) std::array<float, most_rows * near_columns> sums;
      std::array<float, near_rows> weights;
      for (std::size_t j = begin, count; j < end; j += count) {
        count = std::min(near_columns, end - j);
        std::fill_n(sums.data(), m * near_columns, 0.0f);
        for (std::size_t row = 0; row < k; row += near_rows) {
          const std::size_t rows = std::min(near_rows, k - row);
          for (std::size_t i = 0; i < m; ++i) {
            const Input* const from = a + static_cast<Size>(i) * r.lda;
            for (std::size_t x = 0; x < rows; ++x) {
              weights[x] = r.alpha * to_float(from[static_cast<Size>(row + x) * a_step]);
            }
            row_kernels<Input>().add_weighted_rows(b + row * ldb + j, rows, ldb, weights.data(),
                                                   count, sums.data() + i * near_columns);
          }
        }
        for (std::size_t i = 0; i < m; ++i) {
          store(sums.data() + i * near_columns, r.beta,
                c + static_cast<Size>(i) * r.ldc + static_cast<Size>(j), static_cast<Size>(count));
        }
      }
    });
  }
}

/// A block of a product, and where it begins in C.
struct Block {
  Size rows, columns, at;
};

/// Any storage, block by block: panels of A and B are converted to float32 by `load`. part(k,
/// depth, a, b, sums, block) is called for each depth of them, then done(sums, block).
template <class Input, class Load, class Part, class Done>
void multiply_panels(const GemmRequest& r, MemoryPool& pool, Load load, Part part, Done done) {
  Grid grid(r.m, r.n, std::min(block_m, r.m), std::min(block_n, r.n));
  const Size threads = static_cast<Size>(thread_count());
  const double work = static_cast<double>(r.m) * static_cast<double>(r.n) *
                      static_cast<double>(r.k) * static_cast<double>(r.batch_count);
  const bool parallel = threads > 1 && work > parallel_threshold;
  if (parallel && grid.blocks() * r.batch_count < threads) {
    const Grid finer = cut(r.m, r.n, ceil_div(threads, r.batch_count));
    grid = Grid(r.m, r.n, std::min(grid.block_m, finer.block_m),
                std::min(grid.block_n, finer.block_n));
  }
  const Size depth = std::clamp<Size>(r.k, 1, block_k);
  const auto a_size = static_cast<std::size_t>(grid.block_m * depth);
  const auto b_size = static_cast<std::size_t>(depth * grid.block_n);
  const auto c_size = static_cast<std::size_t>(grid.block_m * grid.block_n);

  const auto blocks = static_cast<std::size_t>(parallel ? r.batch_count * grid.blocks() : 1);
  OpScratch all(pool, r.op,
                Scratch::rounded(a_size) + Scratch::rounded(b_size) + Scratch::rounded(c_size),
                blocks);

  for_each_block(
      r, grid, parallel, [&](Size batch, Size row, Size column, Size rows, Size columns) {
        Scratch scratch(all);
        float* const a_panel = scratch.take(a_size);
        float* const b_panel = scratch.take(b_size);
        float* const sums = scratch.take(c_size);
        const Input* const a = data<Input>(r.a) + batch * r.stride_a;
        const Input* const b = data<Input>(r.b) + batch * r.stride_b;
        const Block block{rows, columns, batch * r.stride_c + row * r.ldc + column};
        for (Size k = 0; k < r.k; k += depth) {
          const Size deep = std::min(depth, r.k - k);
          part(k, deep, pack(a, r.lda, r.trans_a, row, k, rows, deep, a_panel, load),
               pack(b, r.ldb, r.trans_b, k, column, deep, columns, b_panel, load), sums, block);
        }
        done(sums, block);
      });
}

/// Sums are kept in float32 until the block is done.
template <class Input, class Output, class Load>
void multiply_converted(const GemmRequest& r, MemoryPool& pool, Load load) {
  multiply_panels<Input>(
      r, pool, load,
      [&](Size k, Size deep, const Matrix& a, const Matrix& b, float* sums, const Block& block) {
        multiply(block.rows, block.columns, deep, r.alpha, a, b, k == 0 ? 0.0f : 1.0f, sums,
                 block.columns);
      },
      [&](const float* sums, const Block& block) {
        Output* const c = data<Output>(r.c) + block.at;
        for (Size i = 0; i < block.rows; ++i) {
          store(sums + i * block.columns, r.beta, c + i * r.ldc, block.columns);
        }
      });
}

/// Products of int8 or uint8: float32 sums a block of block_k of them exactly, int32 its sums,
/// which wrap.
template <class Input>
void multiply_bytes(const GemmRequest& r, MemoryPool& pool) {
  static_assert(block_k * 255 * 255 < 1 << 24);
  const auto widen = [](const Input* from, float* to, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
  };
  const auto c_of = [&](const Block& block) { return data<std::uint32_t>(r.c) + block.at; };
  multiply_panels<Input>(
      r, pool, widen,
      [&](Size k, Size deep, const Matrix& a, const Matrix& b, float* sums, const Block& block) {
        multiply(block.rows, block.columns, deep, 1, a, b, 0, sums, block.columns);
        const bool adds = k > 0 || r.beta != 0;
        for (Size i = 0; i < block.rows; ++i) {
          std::uint32_t* const c = c_of(block) + i * r.ldc;
          const float* const row = sums + i * block.columns;
          for (Size j = 0; j < block.columns; ++j) {
            const auto sum = static_cast<std::uint32_t>(static_cast<std::int32_t>(row[j]));
            c[j] = adds ? c[j] + sum : sum;
          }
        }
      },
      [&](const float*, const Block& block) {
        if (r.k > 0 || r.beta != 0) return;
        for (Size i = 0; i < block.rows; ++i) {
          std::fill_n(c_of(block) + i * r.ldc, block.columns, 0u);
        }
      });
}

}  // namespace

void CpuBackend::do_gemm(const GemmRequest& r) {
  const bool half = r.dtype == DType::float16;
  const bool half_output = r.output_dtype == DType::float16;
  if (r.dtype == DType::int8) return multiply_bytes<std::int8_t>(r, *memory_);
  if (r.dtype == DType::uint8) return multiply_bytes<std::uint8_t>(r, *memory_);
  if (r.dtype == DType::float64) {
    return r.k == 0 || r.alpha == 0 ? scale_output<double>(r) : multiply_float64(r);
  }
  if (r.k == 0 || r.alpha == 0) {
    return half_output ? scale_output<Half>(r) : scale_output<float>(r);
  }
  if (half && is_by_columns(r)) {
    return half_output ? multiply_by_columns<Half, Half>(r, *memory_)
                       : multiply_by_columns<Half, float>(r, *memory_);
  }
  if (half && is_by_rows(r)) {
    return half_output ? multiply_by_rows<Half, Half>(r) : multiply_by_rows<Half, float>(r);
  }
  const auto widen = [](const auto* from, float* to, std::size_t n) { to_float32(from, to, n); };
  if (half_output) return multiply_converted<Half, Half>(r, *memory_, widen);
  if (half) return multiply_converted<Half, float>(r, *memory_, widen);
  if (r.rounding == Precision::float16) {
    return multiply_converted<float, float>(r, *memory_, kernels().linear.round_to_float16);
  }
  if (r.rounding == Precision::bfloat16) {
    return multiply_converted<float, float>(r, *memory_, kernels().linear.round_to_bfloat16);
  }
  // Leading dimensions that OpenBLAS cannot count.
  if (std::max({r.lda, r.ldb, r.ldc}) > blas_max) {
    return multiply_converted<float, float>(r, *memory_, widen);
  }
  if (is_by_columns(r)) return multiply_by_columns<float, float>(r, *memory_);
  if (is_by_rows(r)) return multiply_by_rows<float, float>(r);
  multiply_direct(r);
}

}  // namespace tilewright::cpu
