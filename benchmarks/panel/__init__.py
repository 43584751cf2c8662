"""Clusters and outliers on labelled data sets against what a careful user would do instead."""
