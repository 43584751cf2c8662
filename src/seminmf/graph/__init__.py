"""The neighbour graph: found, given or made by a transformer, and prepared for the solver."""
