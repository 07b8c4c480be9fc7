// The transform of those of v at A, A + S and A + 2 S, in their place.
{
  let sum = v${A + S} + v${A + 2 * S};
  let turn = quarter(v${A + S} - v${A + 2 * S}) * ${T}(0.866025403784438647);
  let rest = v${A} - ${T}(0.5) * sum;
  v${A} += sum;
  v${A + S} = rest + turn;
  v${A + 2 * S} = rest - turn;
}
