// Where its results go.
#if LAST
#if KIND <= 2
      let outer = (first + line) / params.width;
      let within = (first + line) % params.width;
      let middle = within / params.inner;
      let to = ((outer * params.middle + middle) * ${LENGTH}u + t) * params.inner +
               within % params.inner;
#end
#else
      let before = t % ${BEFORE}u;
      let to = (t - before) * ${R}u + before;
#end
