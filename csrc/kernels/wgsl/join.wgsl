// Joins what the WALKERS work-items of a result hold, in workgroup memory; every one of them gets
// the result. Each function is called once at most, since it does not wait for readers of its
// memory.
// `first` is the local index of the walker 0 of this result, NEXT_WALKER what lies between two.
// Variables: GROUP, WALKERS (a power of two), NEXT_WALKER, JOIN (the function of two f32
// that joins), NAME (what comes of it is join_NAME).
var<workgroup> held_by_${NAME}: array<f32, ${GROUP}>;

fn join_${NAME}(value: f32, first: u32, walker: u32) -> f32 {
  held_by_${NAME}[first + walker * ${NEXT_WALKER}u] = value;
  workgroupBarrier();
#let LEFT = WALKERS
#if WALKERS > 16
#let LEFT = WALKERS / 16
  if (walker < ${LEFT}u) {
    var joined = held_by_${NAME}[first + walker * ${NEXT_WALKER}u];
#for w in 1..16
    joined = ${JOIN}(joined, held_by_${NAME}[first + (walker + ${w * LEFT}u) * ${NEXT_WALKER}u]);
#end
    held_by_${NAME}[first + walker * ${NEXT_WALKER}u] = joined;
  }
  workgroupBarrier();
#end
  var result = held_by_${NAME}[first];
#for w in 1..LEFT
  result = ${JOIN}(result, held_by_${NAME}[first + ${w * NEXT_WALKER}u]);
#end
  return result;
}
