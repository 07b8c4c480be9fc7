// The line of a butterfly, and which of its PART ones it is.
#if BY_LINES
    let line = item % ${LINES}u;
    let t = item / ${LINES}u;
#else
    let line = item / ${PART}u;
    let t = item % ${PART}u;
#end
