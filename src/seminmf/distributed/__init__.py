"""Fits of rows that lie with several workers: each has an engine for its own, and only sums travel.

A worker does what a fit on one machine does (`data.Rows`). Between iterations the basis (m × k)
goes to the workers; sums (m × k + k × k) come back, and codes of samples with neighbours on other
workers are exchanged. Workers are reached through Dask, or are this process itself (`sites`); no
other module here depends on which.
"""
