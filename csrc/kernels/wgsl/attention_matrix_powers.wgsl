// Powers of a step's scores over the reference of their row, in the scores' place, and its sum so far.
// Around this file: top, sum, own, query_of and scores_at of this work-item; key0, end, low, high,
// all_see; held, factors, events.
#for i in 0..EACH
    {
#for c in 0..PART/4
#if CAP
      var s${c} = op_tanh(bitcast<vec4<f32>>(held[scores_at${i} + ${c}u]) * params.factor) * params.cap;
#else
      var s${c} = bitcast<vec4<f32>>(held[scores_at${i} + ${c}u]);
#end
#end
      if (!all_see) {
        let from_query = key0 + i32(t % ${SPLIT}u) * ${PART} - query_of${i};
        let left = end - key0 - i32(t % ${SPLIT}u) * ${PART};
#for c in 0..PART/4
        {
          let here = vec4<i32>(${c * 4}, ${c * 4 + 1}, ${c * 4 + 2}, ${c * 4 + 3});
          let away = here + vec4<i32>(from_query);
          s${c} = select(vec4<f32>(lowest()), s${c},
                         (away >= vec4<i32>(low)) & (away <= vec4<i32>(high)) & (here < vec4<i32>(left)));
        }
#end
      }
      var highest = s0;
#for c in 1..PART/4
      highest = max(highest, s${c});
#end
      var higher = max(max(highest[0], highest[1]), max(highest[2], highest[3]));
#if SPLIT > 1
      higher = max(higher, subgroupShuffleXor(higher, 1u));
#end
#if SPLIT > 2
      higher = max(higher, subgroupShuffleXor(higher, 2u));
#end
#if SPLIT > 4
      higher = max(higher, subgroupShuffleXor(higher, 4u));
#end
#if !CAP
      higher *= params.factor;
#end
      var factor = 1.0;
      if (higher > top${i} + 8.0) {
        if (top${i} != lowest()) {
          factor = exp2(top${i} - higher);
          atomicOr(&events, 1u);
        }
        top${i} = higher;
        sum${i} *= factor;
      }
      factors[own${i}] = factor;
      // Up to 2^15, so that what is far below the maximum has its digits too.
      let reference = select(top${i} - 7.0, 0.0, top${i} == lowest());
#for c in 0..PART/8
      {
#if CAP
        let first_four = exp2(s${c * 2} - reference);
        let last_four = exp2(s${c * 2 + 1} - reference);
#else
        let first_four = exp2(fma(s${c * 2}, vec4<f32>(params.factor), vec4<f32>(-reference)));
        let last_four = exp2(fma(s${c * 2 + 1}, vec4<f32>(params.factor), vec4<f32>(-reference)));
#end
        sum${i} += first_four;
        sum${i} += last_four;
#if PARTS == 2
        let first_whole = to_half(first_four);
        let last_whole = to_half(last_four);
        held[scores_at${i} + ${c}u] = packed_eight(first_whole, last_whole);
        held[scores_at${i} + ${PART / 8 + c}u] =
            packed_eight(first_four - first_whole, last_four - last_whole);
#else
        held[scores_at${i} + ${c}u] = packed_eight(first_four, last_four);
#end
      }
#end
    }
#end
