"""From a start to the end of a run: the only outer loop, its steps, and codes of new samples."""
