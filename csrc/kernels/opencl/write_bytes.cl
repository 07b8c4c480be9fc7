// Puts the bytes of `value` that `mask` selects into one word.
// 0 target.
typedef struct { uint word, mask, value; } Params;

__attribute__((reqd_work_group_size(1, 1, 1)))
kernel void write_bytes(global uint* target, const Params params) {
  target[params.word] = (target[params.word] & ~params.mask) | (params.value & params.mask);
}
