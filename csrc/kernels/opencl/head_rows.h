// Where rows of elements lie by batch, head and place in a sequence.
typedef struct {
  uint start, batch, head, seq;
} HeadRows;

/// Where the row of a batch, head and place starts.
static inline uint row_start(HeadRows rows, uint batch, uint head, uint place) {
  return rows.start + batch * rows.batch + head * rows.head + place * rows.seq;
}
