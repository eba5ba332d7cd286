"""Benchmarks: every figure is a ratio to a named peer in the same run.

`make bench` runs them all, prints a table and writes `out/bench/<name>.json`. Nothing
here is asserted in the test suite: the speed of a machine is not a property of promptlab.
"""
