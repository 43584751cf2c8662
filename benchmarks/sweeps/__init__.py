"""Sweeps over the constants of the package, for `benchmarks.constants`."""
