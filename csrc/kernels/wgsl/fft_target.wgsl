// Where its results go.
#if p == PASSES - 1
      let outer = (first + line) / params.width;
      let within = (first + line) % params.width;
      let middle = within / params.inner;
      let to = ((outer * params.middle + middle) * ${N}u + t) * params.inner +
               within % params.inner;
#else
      let before = t % ${BEFORE}u;
      let to = (t - before) * ${R}u + before;
#end
