// How many elements there are: params.n. Where a few fill whole vectors and the output's binding ends
// with them (COUNTED), its length says so: on NVIDIA's GPUs parameters come 0.3 us later.
// params.zero is 0, which no compiler knows: the grid has one layer.
struct Params { n: u32, zero: u32 }
#if COUNTED
var<private> params: Params;
fn count(vectors: u32, group: vec3<u32>) { params = Params(4u * vectors, group.z); }
#else
var<immediate> params: Params;
#end
