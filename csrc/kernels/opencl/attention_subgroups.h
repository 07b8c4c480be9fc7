// attention.cl for subgroups of LANES work-items, which read blocks.
// Teams have ROWS queries each. The SHARERS subgroups of a team share the keys of a tile while
// scores are made, one key a work-item, and the columns of o while these are used: powers and
// maxima reach the others through workgroup memory. So every subgroup has the same few sums in
// registers, whatever COLUMNS is. Of k, DEEP columns of a tile lie in workgroup memory at a time,
// column by column, those of the next step beside them. An element of q or a power is read by one
// work-item of LANES and shown to the others.
// What a work-item knows of queries (a maximum, a sum) it knows of that of its lane, if it has one.
// Where of_first is asked again for what is known, compilers do not keep addresses in registers.
#define ROWS 8
#define ACROSS 2
#define SHARERS (COLUMNS / (ACROSS * LANES))
#define BK (SHARERS * LANES)
#define DEEP (2 * LANES)
// Odd, so that neighbours along the other dimension lie in other banks.
#define PITCH (BK + 1)
// Queries that are too many for 16 subgroups are done in parts.
#define PARTS ((BQ / ROWS * SHARERS + 15) / 16)
#define TEAMS (BQ / ROWS / PARTS)
#define SUBGROUPS (TEAMS * SHARERS)

/// LANES elements from one place on, one for each work-item; 0 from `length` on.
static inline float element(global const T* from, uint length) {
  if (WHOLE) return load_one_each(from);
  const uint lane = get_local_id(0);
  return lane < length ? (float)from[lane] : 0;
}
/// The same of these and of the LANES elements after them.
static inline float2 two_elements(global const T* from, uint length) {
  if (WHOLE) return load_two_each(from);
  return (float2)(element(from, length), element(from + LANES, max(length, LANES) - LANES));
}

#define FOR_ROWS(i, ...) UNROLLED(ROWS, i, __VA_ARGS__)
#define FOR_ACROSS(c, ...) UNROLLED(ACROSS, c, __VA_ARGS__)
// clang-format off
#define FOUR_LANES(place, each) each(place) each(place + 1) each(place + 2) each(place + 3)
#define FOR_LANES(each) \
  FOUR_LANES(0, each) FOUR_LANES(4, each) FOUR_LANES(8, each) FOUR_LANES(12, each)
// clang-format on

OF_SUBGROUPS __attribute__((reqd_work_group_size(LANES, SUBGROUPS, 1))) kernel void attention(
    global const T* q, global const T* k, global const T* v, global T* o, const Params params) {
  local float tiles_k[2][DEEP * PITCH];
  local float powers[TEAMS][ROWS * BK];
  local float shown[TEAMS][SHARERS * LANES];
  const size_t lane = get_local_id(0);
  const uint subgroup = of_first((uint)get_local_id(1));
  const uint team = subgroup / SHARERS;
  const uint sharer = subgroup % SHARERS;
  const uint head_dim = params.head_dim;
  const uint head = HEAD(params);
  const uint batch = head / params.heads, of_batch = head % params.heads;
  // Of powers of two, which are what devices have.
  const float scale = params.scale * 1.44269504f;
  const uint column0 = get_group_id(2) * COLUMNS + sharer * ACROSS * LANES;
#define LEFT_FROM(d) (head_dim > (d) ? head_dim - (d) : 0)

  for (uint part = 0; part < PARTS; ++part) {
    const uint block = (BLOCK_INDEX * PARTS + part) * TEAMS * ROWS;
    const uint2 seen = seen_from(block, TEAMS * ROWS, &params);
    const uint keys = seen.x;
    const uint first_query = block + team * ROWS;
    const uint first_row = min(first_query, params.seq_q - 1);
    const uint last_row = params.seq_q - 1 - first_row;
    const uint of_q = row_start(params.q, batch, of_batch, first_row);
    uint of_keys = row_start(params.k, batch, of_batch / params.share, 0);
    uint of_v = row_start(params.v, batch, of_batch / params.share, 0) + column0;

    float top = -INFINITY;
    float sum = 0;
    float results[ROWS][ACROSS];
    FOR_ROWS(i, FOR_ACROSS(c, results[i][c] = 0;))
    uint turn = 0;
    for (uint key0 = 0; key0 < keys; key0 += BK) {
      const uint tile_keys = min(BK, keys - key0);
      float scores[ROWS];
      FOR_ROWS(i, scores[i] = 0;)
      for (uint d0 = 0; d0 < head_dim; d0 += DEEP) {
        local float* tile_k = tiles_k[turn++ % 2];
        for (uint key = of_first(subgroup); key < tile_keys; key += SUBGROUPS) {
          const float2 two = two_elements(k + (of_keys + key * params.k.seq + d0), LEFT_FROM(d0));
          tile_k[lane * PITCH + key] = two.x;
          tile_k[(LANES + lane) * PITCH + key] = two.y;
        }
        local_barrier();
        for (uint d = 0; d < min(DEEP, head_dim - d0); d += LANES) {
          local const float* of_k = tile_k + d * PITCH + sharer * LANES + lane;
          float own[ROWS];
          FOR_ROWS(i, {
            const uint at = of_q + min(i, last_row) * params.q.seq + d0 + d;
            own[i] = element(q + at, LEFT_FROM(d0 + d));
          })
          // Written out, so that what is shown comes from a place that is known.
#define MULTIPLY_K(place)                                                           \
  {                                                                                 \
    const float y = of_k[(place) * PITCH];                                          \
    FOR_ROWS(i, scores[i] = fma(sub_group_broadcast(own[i], place), y, scores[i]);) \
  }
          FOR_LANES(MULTIPLY_K)
        }
      }

      FOR_ROWS(i, scores[i] *= scale;)
      const bool hiding = key0 + BK > seen.y;
      if (hiding) {
        const uint key = key0 + sharer * LANES + (uint)lane;
        FOR_ROWS(i, {
          const bool sees = key < keys && (!CAUSAL || key <= first_query + i + params.q_offset);
          scores[i] = sees ? scores[i] : -INFINITY;
        })
      }
      // A maximum that leaves out NaN does no harm: the powers and their sum keep it.
      float higher = -INFINITY;
      FOR_ROWS(i, {
        const float of_row = sub_group_reduce_max(scores[i]);
        higher = lane == i ? of_row : higher;
      })
      const uint here = of_first(team);
      local float* of_powers = powers[here] + lane;
      if (SHARERS > 1) {
        shown[here][sharer * LANES + lane] = higher;
        local_barrier();
        UNROLLED(SHARERS, s, {
          const float other = shown[here][s * LANES + lane];
          higher = other > higher ? other : higher;
        })
      }
      higher = higher > top ? higher : top;
      const float factor = top == -INFINITY ? 0 : exp2(top - higher);
      const float reference = higher == -INFINITY ? 0 : higher;
      top = higher;
      sum *= factor;
      FOR_ROWS(i, {
        const float power = exp2(scores[i] - sub_group_broadcast(reference, i));
        of_powers[i * BK + sharer * LANES] = power;
        const float of_row = sub_group_reduce_add(power);
        sum += lane == i ? of_row : 0;
        const float factor_of_row = sub_group_broadcast(factor, i);
        FOR_ACROSS(c, results[i][c] *= factor_of_row;)
      })
      local_barrier();

      // Counted so that compilers do not write it out.
      for (uint first = 0; first < tile_keys; first = of_first(first + LANES)) {
        float own[ROWS];
        FOR_ROWS(i, own[i] = of_powers[i * BK + first];)
#define READ_V                                                   \
  const float2 two = two_elements(v + of_v, LEFT_FROM(column0)); \
  const float y[ACROSS] = {two.x, two.y};                        \
  of_v += params.v.seq
        if (hiding) {
          // Some queries must not see some of these keys; 0 * NaN would show them.
          for (uint place = 0; place < min(LANES, tile_keys - first); ++place) {
            READ_V;
            FOR_ROWS(i, {
              const float power = sub_group_broadcast(own[i], place);
              if (!CAUSAL || key0 + first + place <= first_query + i + params.q_offset) {
                FOR_ACROSS(c, results[i][c] = fma(power, y[c], results[i][c]);)
              }
            })
          }
        } else {
#define MULTIPLY_V(place)                                             \
  {                                                                   \
    READ_V;                                                           \
    FOR_ROWS(i, {                                                     \
      const float power = sub_group_broadcast(own[i], place);         \
      FOR_ACROSS(c, results[i][c] = fma(power, y[c], results[i][c]);) \
    })                                                                \
  }
          FOR_LANES(MULTIPLY_V)
        }
      }
      of_keys += BK * params.k.seq;
    }

    if (SHARERS > 1) {
      local float* of_sums = shown[of_first(team)] + lane;
      local_barrier();
      of_sums[sharer * LANES] = sum;
      local_barrier();
      sum = 0;
      UNROLLED(SHARERS, s, sum += of_sums[s * LANES];)
    }
    const float share = 1 / sum;
    size_t of_o = of_first(row_start(params.o, batch, of_batch, first_query) + column0) + lane;
    FOR_ROWS(i, {
      const float share_of_row = sub_group_broadcast(share, i);
      if (first_query + i < params.seq_q) {
        FOR_ACROSS(c, {
          if (lane < LEFT_FROM(column0 + c * LANES)) {
            o[of_o + c * LANES] = (T)(results[i][c] * share_of_row);
          }
        })
      }
      of_o += params.o.seq;
    })
    local_barrier();
  }
}
