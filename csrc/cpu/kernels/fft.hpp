#pragma once

#include "cpu/kernels/fft_convolve.hpp"

/// Blocks of lines go through passes. The first one reads the input and the last one writes the
/// output itself where lines are neighbours there.
namespace tilewright::cpu::TILEWRIGHT_ISA {

/// The lines of a block. Those that there are fewer of than a vector holds repeat the first.
template <class V, class T>
struct FftBlock {
  static constexpr std::size_t width = fft_width<V>;
  const T* from[width];
  T* to[width];
  std::size_t turn[width];
  std::size_t count;
  bool from_neighbours, to_neighbours, same_turn;

  FftBlock(const FftLines<T>& l, std::size_t number) {
    std::size_t line = number * width, left = l.lines - line;
    if (!l.across && l.lines != l.nz) {
      const std::size_t per_run = (l.nz + width - 1) / width, run = number / per_run;
      const std::size_t first = (number - run * per_run) * width;
      line = run * l.nz + first;
      left = l.nz - first;
    }
    count = left < width ? left : width;
    std::size_t z = line, y = 0, x = 0;
    if (l.lines != l.nz) {
      y = line / l.nz;
      z -= y * l.nz;
      x = y / l.ny;
      y -= x * l.ny;
    }
    const std::size_t input = x * l.input_at.x + y * l.input_at.y + z * l.input_at.z;
    const std::size_t output = x * l.output_at.x + y * l.output_at.y + z * l.output_at.z;
    const std::size_t power = x * l.turn_at.x + y * l.turn_at.y + z * l.turn_at.z;
    if (z + count <= l.nz) {
      from_neighbours = l.input_at.z == 1 || count == 1;
      to_neighbours = l.output_at.z == 1 || count == 1;
      same_turn = l.turn_at.z == 0 || count == 1;
      for (std::size_t i = 0; i < width; ++i) {
        const std::size_t at = i < count ? i : 0;
        from[i] = l.input + 2 * (input + at * l.input_at.z);
        to[i] = l.output + 2 * (output + at * l.output_at.z);
        turn[i] = power + at * l.turn_at.z;
      }
    } else {
      each_line(l, x, y, z);
    }
  }

  /// Of lines that are not all of one x and y.
  [[gnu::noinline]] void each_line(const FftLines<T>& l, std::size_t x, std::size_t y,
                                   std::size_t z) {
    from_neighbours = to_neighbours = same_turn = true;
    for (std::size_t i = 0; i < width; ++i) {
      if (i < count) {
        from[i] = l.input + 2 * (x * l.input_at.x + y * l.input_at.y + z * l.input_at.z);
        to[i] = l.output + 2 * (x * l.output_at.x + y * l.output_at.y + z * l.output_at.z);
        turn[i] = x * l.turn_at.x + y * l.turn_at.y + z * l.turn_at.z;
        from_neighbours = from_neighbours && from[i] == from[0] + 2 * i;
        to_neighbours = to_neighbours && to[i] == to[0] + 2 * i;
        same_turn = same_turn && turn[i] == turn[0];
      } else {
        from[i] = from[0];
        to[i] = to[0];
        turn[i] = turn[0];
      }
      if (++z == l.nz) {
        z = 0;
        if (++y == l.ny) {
          y = 0;
          ++x;
        }
      }
    }
  }
};

template <class T>
struct Root {
  T cos, sin;
};

template <class T>
static inline Root<T> turn_by(const FftLines<T>& l, std::size_t power) {
  Root<T> root;
  if (l.turn_shift == 0) {
    root = {l.turns[2 * power], l.turns[2 * power + 1]};
  } else {
    const std::size_t step = std::size_t{1} << l.turn_shift;
    const T* const near = l.turns + 2 * (power & (step - 1));
    const T* const far = l.turns + 2 * (step + (power >> l.turn_shift));
    root = {near[0] * far[0] - near[1] * far[1], near[0] * far[1] + near[1] * far[0]};
  }
  return {root.cos, l.inverse ? -root.sin : root.sin};
}

/// The turns of number k of each line.
template <class V, class T>
static inline Complex<V> turns_of(const FftLines<T>& l, const FftBlock<V, T>& block, std::size_t k,
                                  T scale) {
  constexpr std::size_t width = fft_width<V>;
  T roots[2 * width];
  for (std::size_t i = 0; i < width; ++i) {
    const Root<T> root = turn_by(l, block.turn[i] * k);
    roots[2 * i] = root.cos * scale;
    roots[2 * i + 1] = root.sin * scale;
  }
  return split(load_neighbours<V>(roots, width));
}

template <class T>
static void fill_turns(const FftLines<T>& l, std::size_t number, T* table) {
  using V = typename FftVector<T>::Type;
  const FftBlock<V, T> block(l, number);
  auto* const to = reinterpret_cast<Complex<V>*>(table);
  for (std::size_t k = 0; k < l.n; ++k) to[k] = turns_of<V>(l, block, k, l.scale);
}

/// Writes the numbers value(k) of each line.
template <class V, class T, class Value>
FFT_INLINE void store_block(const FftLines<T>& l, const FftBlock<V, T>& block, Value value) {
  if (block.to_neighbours) {
    for (std::size_t k = 0; k < l.n; ++k) {
      store_neighbours(block.to[0] + 2 * k * l.output_step, join(value(k)), block.count);
    }
  } else if (l.output_step == 1) {
    store_rows<V>(value, l.n, block.to, block.count);
  } else {
    for (std::size_t k = 0; k < l.n; ++k) {
      scatter(join(value(k)), block.to, 2 * k * l.output_step, block.count);
    }
  }
}

/// Writes what is in the buffer, scaled and turned.
template <class V, class T>
static void finish_block(const FftLines<T>& l, const FftBlock<V, T>& block, std::size_t number,
                         const Complex<V>* buffer, Complex<V>* parts) {
  const std::size_t n = l.n;
  const bool inverse = l.inverse;
  if (l.turns == nullptr) {
    const T scale = l.scale;
    store_block(l, block, [=](std::size_t k) __attribute__((always_inline)) {
      const Complex<V> x = get(buffer[place_of(k, n, inverse)]);
      return Complex<V>{x.re * scale, x.im * scale};
    });
  } else if (l.turn_table != nullptr) {
    const std::size_t per_run = (l.nz + fft_width<V> - 1) / fft_width<V>;
    const auto* const table =
        reinterpret_cast<const Complex<V>*>(l.turn_table) + number % per_run * n;
    store_block(l, block, [=](std::size_t k) __attribute__((always_inline)) {
      return get(buffer[place_of(k, n, inverse)]) * get(table[k]);
    });
  } else if (block.same_turn) {
    const std::size_t turn = block.turn[0];
    store_block(l, block, [=, &l](std::size_t k) __attribute__((always_inline)) {
      const Root<T> root = turn_by(l, turn * k);
      const Complex<V> by{root.cos * l.scale - V{}, root.sin * l.scale - V{}};
      return get(buffer[place_of(k, n, inverse)]) * by;
    });
  } else {
    const unsigned bits = fft_turn_bits(n);
    const std::size_t near = std::size_t{1} << bits;
    Complex<V>* const far = parts + near;
    for (std::size_t k = 0; k < near && k < n; ++k) parts[k] = turns_of<V>(l, block, k, T{1});
    for (std::size_t k = 0; k << bits < n; ++k) {
      far[k] = turns_of<V>(l, block, k << bits, l.scale);
    }
    store_block(l, block, [=](std::size_t k) __attribute__((always_inline)) {
      const Complex<V> turn = get(parts[k & (near - 1)]) * get(far[k >> bits]);
      return get(buffer[place_of(k, n, inverse)]) * turn;
    });
  }
}

template <class V, class T>
static void transform_block(const FftLines<T>& l, const FftBlock<V, T>& block, std::size_t number,
                            T* scratch) {
  auto* from = reinterpret_cast<Complex<V>*>(scratch);
  auto* to = from + l.n;
  auto* const room = to + l.n;
  auto* const parts = room + 2 * l.convolution.longer;
  const bool is_convolved = l.convolution.n != 0;
  std::size_t done = 1, next = 0, step = l.n * l.root_step;
  const std::size_t in_step = 2 * l.input_step;

  const auto run = [&](auto source, auto target) {
    const std::size_t radix = l.radices[next++];
    step /= radix;
    run_pass<V>(radix, source, target, l.roots, step, done, l.n / done / radix);
    done *= radix;
  };
  if (block.from_neighbours && l.passes > 1 && !is_convolved) {
    run(FromNeighbours<V, T>{block.from[0], in_step, block.count}, ToBuffer<V>{from});
  } else if (block.from_neighbours) {
    const FromNeighbours<V, T> input{block.from[0], in_step, block.count};
    for (std::size_t k = 0; k < l.n; ++k) put(from[k], input(k));
  } else if (l.input_step == 1) {
    load_rows<V>(block.from, l.n, from);
  } else {
    for (std::size_t k = 0; k < l.n; ++k) put(from[k], split(gather<V>(block.from, k * in_step)));
  }
  const auto swap = [&] {
    auto* const swapped = from;
    from = to;
    to = swapped;
  };
  if (is_convolved) {
    convolve<V>(l.convolution, from, to, l.n / l.convolution.n, room);
    done = l.convolution.n;
    step /= done;
    swap();
  }
  const bool fused = block.to_neighbours && l.turns == nullptr && l.passes > 0;
  while (next + fused < l.passes) {
    run(FromBuffer<V>{from}, ToBuffer<V>{to});
    swap();
  }
  if (fused) {
    run(FromBuffer<V>{from},
        ToNeighbours<V, T>{block.to[0], 2 * l.output_step, block.count, l.n, l.scale, l.inverse});
  } else {
    finish_block(l, block, number, from, parts);
  }
}

/// Asks for what a block reads and writes: short runs, a step apart, that no prefetcher sees
/// coming.
template <class V, class T>
static void prefetch_block(const FftLines<T>& l, const FftBlock<V, T>& block) {
  constexpr std::size_t line = 64 / sizeof(T), run = 2 * fft_width<V>;
  if (block.from_neighbours) {
    for (std::size_t k = 0; k < l.n; ++k) {
      const T* const from = block.from[0] + 2 * k * l.input_step;
      for (std::size_t i = 0; i < run; i += line) __builtin_prefetch(from + i);
    }
  }
  if (block.to_neighbours) {
    for (std::size_t k = 0; k < l.n; ++k) {
      const T* const to = block.to[0] + 2 * k * l.output_step;
      for (std::size_t i = 0; i < run; i += line) __builtin_prefetch(to + i, 1);
    }
  }
}

template <class T>
static void transform_lines(const FftLines<T>& l, std::size_t begin, std::size_t end, T* scratch) {
  using V = typename FftVector<T>::Type;
  // Small planes that follow each other are seen coming.
  constexpr std::size_t near_bytes = std::size_t{1} << 19, plane_bytes = 1 << 13, most_lines = 256;
  constexpr std::size_t bytes = 2 * sizeof(T);
  const bool is_far = l.n <= most_lines && l.n * l.lines * bytes > near_bytes &&
                      l.n * l.input_step * bytes > plane_bytes;
  for (std::size_t number = begin; number < end; ++number) {
    if (is_far && number + 1 < end) prefetch_block(l, FftBlock<V, T>(l, number + 1));
    transform_block(l, FftBlock<V, T>(l, number), number, scratch);
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
