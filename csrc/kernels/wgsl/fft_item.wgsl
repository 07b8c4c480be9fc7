// Which line and which of its PART butterflies a work-item has, its u-th ones.
    let item = local + ${u * GROUP}u;
#if BY_LINES
    let line = item % ${LINES}u;
    let t = item / ${LINES}u;
#else
    let line = item / ${PART}u;
    let t = item % ${PART}u;
#end
