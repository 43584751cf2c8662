"""Runs from start to end: the only outer loop, its steps, and the codes of new samples."""
