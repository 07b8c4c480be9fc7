// The transform of those of v at A, A + S and A + 2 S, in their place.
{
  let sum = v${A + S} + v${A + 2 * S};
  let turn = quarter(v${A + S} - v${A + 2 * S}) * 0.8660254038;
  let rest = v${A} - 0.5 * sum;
  v${A} += sum;
  v${A + S} = rest + turn;
  v${A + 2 * S} = rest - turn;
}
