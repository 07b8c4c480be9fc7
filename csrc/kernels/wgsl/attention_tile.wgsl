// What attention by tiles keeps: BQ queries by BK keys a workgroup, work-items as NY x NX, each with
// every NY-th query, every NX-th key of a tile and every NX-th vec4 of o's columns. Four queries of a
// work-item share a vec4.
// Around this file: params.zero.
// Variables: NX, NY, TQ, TK, STEP, KEYS, COLUMNS, as attention.wgsl has them.
#let THREADS = NX * NY
#let BQ = NY * TQ
#let BK = NX * TK
#let FOURS = TQ / 4
#let VECTORS = COLUMNS / 4 / NX
#let ROW = STEP / 4
#let WIDTH = COLUMNS / 4
// Gaps between rows, so that neighbours read other banks.
#let PITCH = ROW + 1
#let QUERIES = BQ / 4 + 1
#let HALF_STAGE = (BQ + BK) * PITCH
#let Q_LOADS = (BQ * ROW + THREADS - 1) / THREADS
#let K_LOADS = (BK * ROW + THREADS - 1) / THREADS
#let V_LOADS = (KEYS * WIDTH + THREADS - 1) / THREADS
#let VKEYS = V_LOADS * THREADS / WIDTH
#if VKEYS > BK
#let VKEYS = BK
#let V_LOADS = VKEYS * WIDTH / THREADS
#end

// Rows of q and of k while scores are made, then powers by key and four queries.
#let TILE = 2 * HALF_STAGE
#if BK * QUERIES > TILE
#let TILE = BK * QUERIES
#end
var<workgroup> tile: array<vec4<f32>, ${TILE}>;
// Rows of v; before and after that what work-items tell the others of their queries.
#let VALUES = 2 * VKEYS * WIDTH
#if NX * QUERIES > VALUES
#let VALUES = NX * QUERIES
#end
var<workgroup> values: array<vec4<f32>, ${VALUES}>;

/// -infinity.
fn lowest_of_all() -> vec4<f32> { return bitcast<vec4<f32>>(vec4<u32>(0xff800000u ^ params.zero)); }
