// Reads rows of k, or of v, of the keys from AHEAD behind FROM on; 0 past the last one.
// Around this file: end, sequence, first_key, base, line, place and next of each.
// Variables: X (k or v), LOADS, FROM, AHEAD.
#for n in 0..LOADS
    {
      let key = ${FROM} + ${AHEAD} + i32(line_${X}${n});
      next_${X}${n} = vec4<u32>();
      if (line_${X}${n} < ${KEYS}u && key < end) {
        next_${X}${n} = read_${X}(base_${X}, place_of(sequence, first_key, u32(key)), place_${X}${n} * 8u);
      }
    }
#end
