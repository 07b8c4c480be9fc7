// What products of sparse matrices compute with: an element is a NUMBER in memory, and summed as SUM,
// of parts of type REAL; and how an element of the result is written.
// Around this file: y.
// Variables: GROUP, T (f32, f16 or f64), COMPLEX (1: an element is two T).
#let NUMBER = T
#let SUM = T
#let REAL = T
#if T == "f16"
enable f16;
#let SUM = "f32"
#let REAL = "f32"
#end
#if COMPLEX
#let NUMBER = "vec2<f32>"
#if T == "f64"
#let NUMBER = "vec2<f64>"
#end
#let SUM = NUMBER
#end

struct Params {
  rows: u32, cols: u32, nnz: u32, n: u32, ldx: u32, ldy: u32,
  total: u32, share: u32, groups: u32,  // rows and elements, how many a workgroup, and of these
  name: u32, alpha: u32, alpha_high: u32, beta: u32, beta_high: u32,
  block_rows: u32, block_cols: u32, pieces: u32,
  batch: u32, step_offsets: u32, step_columns: u32, step_values: u32, step_x: u32, step_y: u32,
}
var<immediate> params: Params;

// Where the operands of this product of the batch start.
var<private> offsets_at: u32;
var<private> columns_at: u32;
var<private> values_at: u32;
var<private> x_at: u32;
var<private> y_at: u32;

fn choose(product: u32) {
  offsets_at = product * params.step_offsets;
  columns_at = product * params.step_columns;
  values_at = product * params.step_values;
  x_at = product * params.step_x;
  y_at = product * params.step_y;
}

#if T == "f64"
fn of_bits(low: u32, high: u32) -> f64 { return bitcast<f64>((u64(high) << 32u) | u64(low)); }
#else
fn of_bits(low: u32, high: u32) -> f32 { return bitcast<f32>(low); }
#end
