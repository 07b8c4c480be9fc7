// The transform of v[A], v[A + S], v[A + 2 S] and v[A + 3 S], in its place.
{
  let a = v[${A}] + v[${A + 2 * S}];
  let b = v[${A}] - v[${A + 2 * S}];
  let c = v[${A + S}] + v[${A + 3 * S}];
  let d = quarter(v[${A + S}] - v[${A + 3 * S}]);
  v[${A}] = a + c;
  v[${A + S}] = b + d;
  v[${A + 2 * S}] = a - c;
  v[${A + 3 * S}] = b - d;
}
