// The classes of lines, and the scores of them. An index that is no class is kept in `faults`, as
// index.wgsl says; its line is as one that is ignored.
// Around this file: `scores`, `targets`, `weights` and `faults`, after stored_floats.wgsl.
// Variables: T, F, PACK, VECTOR (1: lines are whole vectors of four), LONG (1: targets have 64 bits),
// WEIGHTS (0: weights are 1, and what is bound is not read).
fn number(low: u32, high: u32) -> ${F} {
#if T == "f64"
  return bitcast<f64>((u64(high) << 32u) | u64(low));
#else
  return bitcast<f32>(low);
#end
}
fn report(low: u32, high: u32) {
  if (atomicMax(&faults[0], 1u) != 0u) { return; }
  atomicStore(&faults[1], params.name);
  atomicStore(&faults[2], params.axis);
  atomicStore(&faults[3], params.classes);
  atomicStore(&faults[4], low);
  atomicStore(&faults[5], high);
  atomicStore(&faults[6], 1u);
}
/// 0xffffffff where the line is ignored.
fn target_of(line: u32) -> u32 {
#if LONG
  let low = targets[2u * line];
  let high = targets[2u * line + 1u];
#else
  let low = targets[line];
  let high = select(0u, 0xffffffffu, low > 0x7fffffffu);
#end
  if (low == params.ignored && high == params.ignored_high) { return 0xffffffffu; }
  if (high == 0u && low < params.classes) { return low; }
  report(low, high);
  return 0xffffffffu;
}
fn weight_of(class_: u32) -> ${F} {
#if WEIGHTS
#if PACK == 2
  return number_of(half_of(weights[class_ / 2u], class_));
#else
  return weights[class_];
#end
#else
  return ${F}(1.0);
#end
}
