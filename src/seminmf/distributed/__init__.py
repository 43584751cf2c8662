"""A fit whose rows lie with several workers: each has an engine for its own, and only sums travel.

What a worker does is what happens in a fit on one machine (`data.Rows`). Between two iterations
go the basis (m × k) to the workers, sums (m × k + k × k) back, and codes of samples that have
neighbours on other workers. Dask is one way to reach the workers, this process itself another
(`sites`); nothing else here knows of either.
"""
