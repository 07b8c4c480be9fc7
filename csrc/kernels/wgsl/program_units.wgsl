// Units of neural networks, of a class F of floats.
fn leaky_${F}(x: vec4<${F}>, slope: vec4<${F}>) -> vec4<${F}> {
  return choose_${F}(x > vec4<${F}>(), x, x * slope);
}
#if WIDE == 0
fn exponential_unit_${F}(x: vec4<${F}>, alpha: vec4<${F}>) -> vec4<${F}> {
  return choose_${F}(x > vec4<${F}>(), x, alpha * exponential_less_one_${F}(x));
}
fn scaled_unit_${F}(x: vec4<${F}>) -> vec4<${F}> {
  return exponential_unit_${F}(x, vec4<${F}>(${ALPHA})) * vec4<${F}>(${SCALE});
}
#end
fn hard_logistic_${F}(x: vec4<${F}>) -> vec4<${F}> {
  let above = maximum_${F}(x + vec4<${F}>(3), vec4<${F}>());
  return minimum_${F}(above, vec4<${F}>(6)) * vec4<${F}>(${SIXTH});
}
fn hard_swish_${F}(x: vec4<${F}>) -> vec4<${F}> {
  let above = maximum_${F}(x, vec4<${F}>(-3));
  return above * (minimum_${F}(above + vec4<${F}>(3), vec4<${F}>(6)) * vec4<${F}>(${SIXTH}));
}
fn soft_sign_${F}(x: vec4<${F}>) -> vec4<${F}> {
  let near = minimum_${F}(maximum_${F}(x, vec4<${F}>(${LOW})), vec4<${F}>(${HIGH}));
  return divide_${F}(near, magnitude_${F}(near) + vec4<${F}>(1));
}
