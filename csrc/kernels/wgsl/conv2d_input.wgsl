// The input pixel that filter tap (r, s) sees at output position (p, q); 0 on the padding.
fn input_at(image: u32, channel: u32, at: vec2<u32>, tap: vec2<u32>) -> f32 {
  // Left of or above the image is a large number here.
  let y = at.x * params.stride_h + tap.x * params.dilation_h - params.pad_h;
  let x = at.y * params.stride_w + tap.y * params.dilation_w - params.pad_w;
  if (y >= params.height || x >= params.width) { return 0.0; }
  let plane = image * (params.groups * params.channels) + channel;
  return f32(input[(plane * params.height + y) * params.width + x]);
}
