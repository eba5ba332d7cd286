"""Benchmarks: every figure is a ratio to a named peer in the same run.

`make bench` runs them all, prints a table and writes `out/bench/<name>.json`. Nothing
here is asserted in the test suite: a machine's speed is no rule of promptlab.
"""
