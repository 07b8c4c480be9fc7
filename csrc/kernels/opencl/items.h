// What a kernel with variables T and VECTOR reads at a time: ITEM, WIDTH elements; WIDE is the same
// in float32.
#if VECTOR
#define WIDTH 4
#define WIDE float4
#define ITEM FOUR(T)
#define to_wide(item) convert(item, float4)
#else
#define WIDTH 1
#define WIDE float
#define ITEM T
#define to_wide(item) ((float)(item))
#endif
