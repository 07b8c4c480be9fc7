"""Random calls of everything that a user can call, valid and not, against NumPy in float64.

A case is one valid call, a valid call made invalid in one argument, a sequence of calls, or an
expression of arrays. Its number and a seed say all that is in it, so `python tests/fuzz --backend
cpu --seed 7 --case 12` runs it again. Cases run in batches, each in a process of its own, so that
one that ends the process, hangs or eats memory is found like one whose result is wrong.
"""
