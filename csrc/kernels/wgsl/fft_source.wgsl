// Where the numbers of a butterfly are.
      let inside = first + line < params.lines;
#if p == 0
      let read_outer = (first + line) / params.width;
      let source = read_outer * (params.width * ${N - 1}u) + first + line + t * params.width;
#else
      let source = line * ${PITCH}u;
      let angle = t % ${BEFORE}u * ${PART / BEFORE}u;
#end
