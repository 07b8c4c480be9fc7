// Elementwise functions of two VALUEs, float or vectors of it.
static inline VALUE larger_of(VALUE x, VALUE y) { return (x > y | x != x) ? x : y; }
static inline VALUE smaller_of(VALUE x, VALUE y) { return (x < y | x != x) ? x : y; }

/// The operator that the plan asks for.
static inline VALUE of_op(VALUE x, VALUE y) {
  switch (OP) {
    case OP_add:
      return x + y;
    case OP_sub:
      return x - y;
    case OP_mul:
      return x * y;
    case OP_div:
      return x / y;
    case OP_max:
      return larger_of(x, y);
    case OP_min:
      return smaller_of(x, y);
    default:
      return pow(x, y);
  }
}
