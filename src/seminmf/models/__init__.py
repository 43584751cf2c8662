"""The scikit-learn estimators, what they check, and how a fit is put together."""
