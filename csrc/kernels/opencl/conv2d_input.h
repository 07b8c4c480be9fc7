/// The input pixel that filter tap (r, s) sees at output position (p, q); 0 on the padding.
static inline float input_at(global const T* input, Params params, uint image, uint channel,
                             uint2 at, uint2 tap) {
  // Left of or above the image is a large number here.
  const uint y = at.x * params.stride_h + tap.x * params.dilation_h - params.pad_h;
  const uint x = at.y * params.stride_w + tap.y * params.dilation_w - params.pad_w;
  if (y >= params.height || x >= params.width) return 0;
  const uint plane = image * (params.groups * params.channels) + channel;
  return input[(plane * params.height + y) * params.width + x];
}
