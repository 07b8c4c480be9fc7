// Row normalisation, one row a workgroup: x * weight / sqrt(mean(x^2) + eps), or with CENTRED
// (x - mean(x)) * weight / sqrt(var(x) + eps) + bias.
// Arguments in this order: x (left out where it is the output's buffer), weight, bias (CENTRED),
// output.
//! T: f32 f16
//! CENTRED: 0 1
//! IN_PLACE: 0 1
//! GROUP: 256
typedef struct { uint rows, cols; float eps; } Params;

static inline float2 sum_over_group(local float2* partial, float2 value) {
  const uint item = get_local_id(0);
  local_barrier();
  partial[item] = value;
  for (uint width = GROUP / 2; width > 0; width /= 2) {
    local_barrier();
    if (item < width) partial[item] += partial[item + width];
  }
  local_barrier();
  return partial[0];
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void norm(
#if IN_PLACE
#define source output
#else
    global const T* source,
#endif
    global const T* weight,
#if CENTRED
    global const T* bias,
#endif
    global T* output, const Params params) {
  local float2 partial[GROUP];
  const uint item = get_local_id(0);
  const uint row = group_index();
  const uint count = row < params.rows ? params.cols : 0;
  const uint base = row * params.cols;
  const float n = (float)params.cols;
#if CENTRED
  float sum = 0;
  for (uint i = item; i < count; i += GROUP) sum += (float)source[base + i];
  const float centre = sum_over_group(partial, (float2)(sum, 0)).x / n;
  // What the centre is off by keeps the digits of rows far from zero.
  float2 around = 0;
  for (uint i = item; i < count; i += GROUP) {
    const float d = (float)source[base + i] - centre;
    around += (float2)(d, d * d);
  }
  const float2 means = sum_over_group(partial, around) / n;
  const float offset = means.x;
  const float factor = 1 / sqrt(fmax(means.y - offset * offset, 0.0f) + params.eps);
#else
  float squares = 0;
  for (uint i = item; i < count; i += GROUP) {
    const float x = (float)source[base + i];
    squares = fma(x, x, squares);
  }
  const float mean_square = sum_over_group(partial, (float2)(squares, 0)).x / n;
  const float factor = 1 / sqrt(mean_square + params.eps);
#endif
  for (uint i = item; i < count; i += GROUP) {
#if CENTRED
    const float x = (((float)source[base + i] - centre) - offset) * factor;
    output[base + i] = (T)fma(x, (float)weight[i], (float)bias[i]);
#else
    output[base + i] = (T)((float)source[base + i] * factor * (float)weight[i]);
#endif
  }
}
