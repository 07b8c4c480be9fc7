// Powers of a tile's scores over their running maximum, into workgroup memory by key and four queries,
// with the sums and o so far brought to a new maximum.
// Around this file: s, top, sum and o of this work-item; tx, ty.
    // A maximum that leaves out NaN does no harm: the powers and their sum keep it.
#for g in 0..FOURS
    var higher${g} = s${g}_0;
#for j in 1..TK
    higher${g} = max(higher${g}, s${g}_${j});
#end
    values[tx * ${QUERIES}u + ${g * NY}u + ty] = higher${g};
#end
    workgroupBarrier();
#for g in 0..FOURS
    {
      var higher = top${g};
#for x in 0..NX
      higher = max(higher, values[${x * QUERIES + g * NY}u + ty]);
#end
      if (any(higher != top${g})) {
        let factor = select(power_below_one(top${g} - higher), vec4<f32>(), top${g} == lowest_of_all());
        top${g} = higher;
        sum${g} *= factor;
#for i in 0..4
#for c in 0..VECTORS
        o${g * 4 + i}_${c} *= factor[${i}];
#end
#end
      }
      // There is no maximum to take away while every score is -infinity.
      let reference = select(higher, vec4<f32>(), higher == lowest_of_all());
#for j in 0..TK
      {
        let power = power_below_one(s${g}_${j} - reference);
        sum${g} += power;
        tile[(tx + ${j * NX}u) * ${QUERIES}u + ${g * NY}u + ty] = power;
      }
#end
    }
#end
    workgroupBarrier();
