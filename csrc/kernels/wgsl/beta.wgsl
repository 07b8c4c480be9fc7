// Whether beta * C counts: beta is neither 0 nor -0. By its bits, since != may be false of NaN.
// Around this file: params.beta.
fn adds_c() -> bool { return (bitcast<u32>(params.beta) & 0x7fffffffu) != 0u; }
