// Of two matrices in one launch, whose items lie one behind the other, the work-item's: `matrix` of
// params.a and params.b, whether it is in_a, and `item` of it. Work-items behind both return.
  var item = item_index(group, groups, local);
  let in_a = item < params.a.items;
  var matrix = params.a;
  if (!in_a) {
    item -= params.a.items;
    matrix = params.b;
  }
  if (item >= matrix.items) { return; }
