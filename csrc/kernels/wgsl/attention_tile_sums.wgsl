// sums of each query, of all its work-items, in vectors of four queries.
// Around this file: sum of this work-item; tx, ty.
  // The sums of each query's work-items.
  workgroupBarrier();
#for g in 0..FOURS
  values[tx * ${QUERIES}u + ${g * NY}u + ty] = sum${g};
#end
  workgroupBarrier();
#for g in 0..FOURS
  var sums${g} = vec4<f32>();
#for x in 0..NX
  sums${g} += values[${x * QUERIES + g * NY}u + ty];
#end
#end
