"""The core broken on purpose, in one place at a time: do the tests notice?

    python -m benchmarks.mutation            # all mutants; rows in docs/mutation.csv
    python -m benchmarks.mutation NAME …     # some of them, and what their tests say

`mutants` lists the places, each with the tests that concern it.
"""
