// attention.cl for any work-items.
// Teams of LANES work-items have ROWS queries each: its work-items lie along the keys of a tile
// while scores are made, and along the columns of o while these are used. Of k, DEEP columns of a
// tile lie in workgroup memory at a time, column by column, those of the next step beside them; of
// v, the tile.
#define ROWS 4
#define BESIDE 2
#define BK (BESIDE * LANES)
#define DEEP 32
#define ACROSS (COLUMNS / LANES)
// Odd, so that neighbours along the other dimension lie in other banks.
#define PITCH (BK + 1)
// Queries that are too many for the work-items of a group are done in parts.
#define PARTS ((BQ / ROWS + 15) / 16)
#define TEAMS (BQ / ROWS / PARTS)

#define FOR_ROWS(i, ...) UNROLLED(ROWS, i, __VA_ARGS__)
#define FOR_BESIDE(j, ...) UNROLLED(BESIDE, j, __VA_ARGS__)
#define FOR_ACROSS(c, ...) UNROLLED(ACROSS, c, __VA_ARGS__)

__attribute__((reqd_work_group_size(LANES, TEAMS, 1))) kernel void attention(
    global const T* q, global const T* k, global const T* v, global T* o, const Params params) {
  local float tiles_k[2][DEEP * PITCH];
  local float tile_v[BK][COLUMNS];
  local float shown[TEAMS][ROWS][LANES];
  local float2 factors[TEAMS][ROWS];
  local float powers[TEAMS][ROWS][BK];
  const size_t lane = get_local_id(0);
  const uint team = get_local_id(1);
  const uint head = HEAD(params);
  const uint batch = head / params.heads, of_batch = head % params.heads;
  const uint of_k = row_start(params.k, batch, of_batch / params.share, 0);
  const uint of_v = row_start(params.v, batch, of_batch / params.share, 0);
  // Of powers of two, which are what devices have.
  const float scale = params.scale * 1.44269504f;
  const uint column0 = get_group_id(2) * COLUMNS;

  for (uint part = 0; part < PARTS; ++part) {
    const uint block = (BLOCK_INDEX * PARTS + part) * TEAMS * ROWS;
    const uint2 seen = seen_from(block, TEAMS * ROWS, &params);
    const uint keys = seen.x;
    const uint first_query = block + team * ROWS;
    uint of_query[ROWS];
    FOR_ROWS(i, {
      const uint query = min(first_query + i, params.seq_q - 1);
      of_query[i] = row_start(params.q, batch, of_batch, query);
    })
    float top = -INFINITY;
    float sums[ROWS];
    float results[ROWS][ACROSS];
    FOR_ROWS(i, {
      sums[i] = 0;
      FOR_ACROSS(c, results[i][c] = 0;)
    })
    uint turn = 0;
    for (uint key0 = 0; key0 < keys; key0 += BK) {
      float scores[ROWS][BESIDE];
      FOR_ROWS(i, FOR_BESIDE(j, scores[i][j] = 0;))
      const uint tile_keys = min(BK, keys - key0);
      for (uint d0 = 0; d0 < params.head_dim; d0 += DEEP) {
        const uint end = min(DEEP, params.head_dim - d0);
        local float* tile_k = tiles_k[turn++ % 2];
        if (d0 == 0) local_barrier();
        for (uint key = team; key < tile_keys; key += TEAMS) {
          global const T* line = k + (of_k + (key0 + key) * params.k.seq + d0);
          UNROLL for (size_t d = lane; d < DEEP; d += LANES) {
            tile_k[d * PITCH + key] = WHOLE || d < end ? (float)line[d] : 0;
          }
          if (d0 > 0) continue;
          line = v + (of_v + (key0 + key) * params.v.seq + column0);
          UNROLL for (size_t column = lane; column < COLUMNS; column += LANES) {
            const bool inside = WHOLE || column0 + column < params.head_dim;
            tile_v[key][column] = inside ? (float)line[column] : 0;
          }
        }
        local_barrier();
        local const float* from_k = tile_k + lane;
        for (uint d = 0; d < end; ++d) {
          float y[BESIDE];
          FOR_BESIDE(j, y[j] = from_k[d * PITCH + j * LANES];)
          FOR_ROWS(i, {
            const float x = q[of_query[i] + d0 + d];
            FOR_BESIDE(j, scores[i][j] = fma(x, y[j], scores[i][j]);)
          })
        }
      }

      const bool hiding = key0 + BK > seen.y;
      FOR_ROWS(i, {
        float higher = -INFINITY;
        FOR_BESIDE(j, {
          const uint key = key0 + j * LANES + lane;
          float score = scores[i][j] * scale;
          if (hiding) {
            const bool sees = key < keys && (!CAUSAL || key <= first_query + i + params.q_offset);
            score = sees ? score : -INFINITY;
          }
          scores[i][j] = score;
          // A maximum that leaves out NaN does no harm: the powers and their sum keep it.
          higher = score > higher ? score : higher;
        })
        shown[team][i][lane] = higher;
      })
      local_barrier();
      // One work-item knows of each query: what its sums so far are worth under the new maximum,
      // and what to take from its scores.
      if (lane < ROWS) {
        float higher = top;
        for (uint x = 0; x < LANES; ++x) {
          const float other = shown[team][lane][x];
          higher = other > higher ? other : higher;
        }
        factors[team][lane].x = top == -INFINITY ? 0 : exp2(top - higher);
        factors[team][lane].y = higher == -INFINITY ? 0 : higher;
        top = higher;
      }
      local_barrier();
      FOR_ROWS(i, {
        const float factor = factors[team][i].x;
        const float reference = factors[team][i].y;
        sums[i] *= factor;
        FOR_ACROSS(c, results[i][c] *= factor;)
        FOR_BESIDE(j, {
          const float power = exp2(scores[i][j] - reference);
          sums[i] += power;
          powers[team][i][j * LANES + lane] = power;
        })
      })
      local_barrier();

      for (uint key = 0; key < tile_keys; ++key) {
        float y[ACROSS];
        FOR_ACROSS(c, y[c] = tile_v[key][c * LANES + lane];)
        FOR_ROWS(i, {
          // Some queries must not see some of these keys; 0 * NaN would show them.
          if (!CAUSAL || !hiding || key0 + key <= first_query + i + params.q_offset) {
            const float power = powers[team][i][key];
            FOR_ACROSS(c, results[i][c] = fma(power, y[c], results[i][c]);)
          }
        })
      }
    }

    local_barrier();
    FOR_ROWS(i, shown[team][i][lane] = sums[i];)
    local_barrier();
    if (lane < ROWS) {
      float sum = 0;
      for (uint x = 0; x < LANES; ++x) sum += shown[team][lane][x];
      factors[team][lane].x = 1 / sum;
    }
    local_barrier();
    FOR_ROWS(i, {
      const float share = factors[team][i].x;
      if (first_query + i < params.seq_q) {
        global T* line = o + row_start(params.o, batch, of_batch, first_query + i);
        FOR_ACROSS(c, {
          const size_t column = column0 + c * LANES + lane;
          if (WHOLE || column < params.head_dim) line[column] = (T)(results[i][c] * share);
        })
      }
    })
    local_barrier();
  }
}
