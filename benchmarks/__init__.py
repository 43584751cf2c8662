"""Measurements: ``python -m benchmarks`` for speed, ``python -m benchmarks.starts`` for starts."""
