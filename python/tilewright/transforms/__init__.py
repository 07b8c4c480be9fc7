"""Fourier transforms of the last axis: plans, which are made once for a length, and what they run."""
