// What the tests launch: buffers, a structure, a number, and a function that no module has.
typedef unsigned int uint;
typedef struct { uint n; float alpha; } Params;
unsigned long __attribute__((overloadable, const)) get_global_id(uint dimension);
void missing(global float* x);

__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void saxpy(global const float* x, global float* y, const Params params) {
  const uint i = get_global_id(0);
  if (i < params.n) y[i] += params.alpha * x[i];
}

__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void rounds(global float* x, const uint rounds) {
  float a = x[get_global_id(0)];
  for (uint i = 0; i < rounds; i++) a = a * 0.999f + 0.5f;
  x[get_global_id(0)] = a;
}
