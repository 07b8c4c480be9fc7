// Copies `bytes` bytes between any offsets, one target word a work-item. Both bindings may be
// ranges of one buffer, whose byte ranges do not overlap.
// 0 source, 1 target.
//! GROUP: 256
typedef struct { uint target_offset, source_offset, bytes; } Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void copy_bytes(global const uint* source, global uint* target, const Params params) {
  const uint word = params.target_offset / 4 + item_index(GROUP);
  const uint end = params.target_offset + params.bytes;
  if (word * 4 >= end) return;
  // The bytes of this word that are ours: [first, last).
  const uint first = max(params.target_offset, word * 4) - word * 4;
  const uint last = min(end - word * 4, 4u);
  // The source byte that lands in byte `first`, and from there as many as we own.
  const uint origin = params.source_offset + word * 4 + first - params.target_offset;
  const uint shift = origin % 4 * 8;
  uint value = source[origin / 4] >> shift;
  if (shift != 0 && origin % 4 + (last - first) > 4) {
    value |= source[origin / 4 + 1] << (32 - shift);
  }
  const uint ones = last - first == 4 ? 0xffffffffu : (1u << ((last - first) * 8)) - 1;
  const uint mask = ones << (first * 8);
  target[word] = (target[word] & ~mask) | ((value << (first * 8)) & mask);
}
