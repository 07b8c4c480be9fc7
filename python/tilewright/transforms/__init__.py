"""Fourier transforms of rows: plans, made once for a length, and what they run."""
