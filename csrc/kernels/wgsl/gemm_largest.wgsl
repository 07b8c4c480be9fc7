// The largest finite magnitude of each row of op(A) and of each column of op(B), float32, as bits,
// joined to what is there: of the rows first, then of the columns.
// 0 a, 1 b, 2 largest.
// 32 x 128 of what is stored a workgroup, those of A first.
struct Matrix {
  rows: u32, columns: u32, ld: u32,
  by_columns: u32,  // whether the lines that are meant are columns of what is stored
  first: u32,  // of its lines
  wide: u32, tiles: u32,
}
struct Params { a: Matrix, b: Matrix }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> largest: array<atomic<u32>>;
var<workgroup> held: array<atomic<u32>, 128>;

fn magnitude(in_a: bool, at: u32) -> u32 {
  var bits = 0u;
  if (in_a) {
    bits = bitcast<u32>(a[at]);
  } else {
    bits = bitcast<u32>(b[at]);
  }
  bits &= 0x7fffffffu;
  return select(bits, 0u, bits >= 0x7f800000u);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  var tile = group.x + group.y * groups.x;
  let in_a = tile < params.a.tiles;
  var matrix = params.a;
  if (!in_a) {
    tile -= params.a.tiles;
    matrix = params.b;
  }
  if (tile >= matrix.tiles) { return; }
  let top = tile / matrix.wide * 32u;
  let left = tile % matrix.wide * 128u;
  let down = local / 32u;
  let over = local % 32u;
  if (local < 128u) { atomicStore(&held[local], 0u); }
#for i in 0..4
#for j in 0..4
  var size${i}_${j} = 0u;
  if (top + down + ${i * 8}u < matrix.rows && left + over + ${j * 32}u < matrix.columns) {
    size${i}_${j} = magnitude(in_a, (top + down + ${i * 8}u) * matrix.ld + left + over + ${j * 32}u);
  }
#end
#end
  workgroupBarrier();
  if (matrix.by_columns != 0u) {
#for i in 0..4
    atomicMax(&held[over + ${i * 32}u], max(max(size0_${i}, size1_${i}), max(size2_${i}, size3_${i})));
#end
  } else {
#for i in 0..4
    atomicMax(&held[down + ${i * 8}u], max(max(size${i}_0, size${i}_1), max(size${i}_2, size${i}_3)));
#end
  }
  workgroupBarrier();
  let by_columns = matrix.by_columns != 0u;
  let line = select(top, left, by_columns) + local;
  if (local < select(32u, 128u, by_columns) && line < select(matrix.rows, matrix.columns, by_columns)) {
    atomicMax(&largest[matrix.first + line], atomicLoad(&held[local]));
  }
}
