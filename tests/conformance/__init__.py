"""Each op of each backend against NumPy in float64: what `docs` and headers promise, as tests."""
