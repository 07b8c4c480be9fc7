// Where the numbers of a butterfly are.
      let inside = first + line < params.lines;
#if FIRST
#if KIND > 0
#let ROW = (KIND <= 1 || KIND == 3) * N + (KIND == 2) * (N + 1) + (KIND == 4) * (N / 2 + 1)
      let source = (first + line) * ${ROW}u;
#else
      let read_outer = (first + line) / params.width;
      let source = read_outer * (params.width * ${LENGTH - 1}u) + first + line + t * params.width;
#end
#else
      let source = line * ${PITCH}u;
      let angle = t % ${BEFORE}u * ${PART / BEFORE}u;
#end
