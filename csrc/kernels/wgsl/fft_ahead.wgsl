// In y what goes to number m of a line for pass p + 1, of a prime above 13: turned by its root already,
// since several work-items read it there.
#let NEXT_BEFORE = BEFORE * R
#let NEXT_PART = N / NEXT
#if NEXT_BEFORE > 1
        {
          let angle = m % ${NEXT_PART}u % ${NEXT_BEFORE}u * (m / ${NEXT_PART}u);
          y = times_root(y, roots[angle * ${N / (NEXT_BEFORE * NEXT) * ROOTS}u]);
        }
#end
