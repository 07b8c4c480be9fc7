// The transform of those of v at A, A + S, A + 2 S and A + 3 S, in their place.
{
  let a = v${A} + v${A + 2 * S};
  let b = v${A} - v${A + 2 * S};
  let c = v${A + S} + v${A + 3 * S};
  let d = quarter(v${A + S} - v${A + 3 * S});
  v${A} = a + c;
  v${A + S} = b + d;
  v${A + 2 * S} = a - c;
  v${A + 3 * S} = b - d;
}
