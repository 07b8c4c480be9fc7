// What sparse_rows.wgsl has in workgroup memory: ITEMS products of elements a work-item, STAGE in all,
// of which a row may have ROOM. Longer ones are added up in pieces of PIECE elements: each of these
// rows has the first element of some piece.
// Variables: GROUP, T, COMPLEX.
#let ITEMS = 6
#if T == "f64" || COMPLEX
#let ITEMS = 4
#end
#if T == "f64" && COMPLEX
#let ITEMS = 2
#end
#let STAGE = ITEMS * GROUP
#let ROOM = STAGE - 4
#let PIECE = STAGE / 2
