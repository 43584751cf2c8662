"""Scikit-learn's own searches for neighbours as recipes: which class, and its parameters.

A model file holds no code. What one of these classes found when it was fitted is not stored either:
it is fitted again to the same samples, and finds the same neighbours.
"""

from __future__ import annotations

from typing import Any

# What to do about a search of another kind, or about a parameter that is a function.
REMEDY = (
    "; of the searches for neighbours only scikit-learn's KNeighborsTransformer and "
    "RadiusNeighborsTransformer can be, with parameters that are no functions: fit with one of "
    'these, with graph="auto" or graph="knn", or with the matrix graph=transformer.fit_transform(X)'
)


def _classes() -> dict[str, type]:
    from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

    return {cls.__name__: cls for cls in (KNeighborsTransformer, RadiusNeighborsTransformer)}


def is_search(value: Any) -> bool:
    """Whether it is one of the classes itself: a class derived from one may do anything."""
    return type(value) in _classes().values()


def make(name: str, parameters: dict[str, Any]) -> Any:
    """A search that is not fitted; raises KeyError for a class that is not known."""
    return _classes()[name](**parameters)
