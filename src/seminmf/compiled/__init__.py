"""Compiled code: the one iteration, its kernels, and the structures that they take.

Nothing here knows an estimator or a loss by name. Importing this package loads the compiler, so
estimators do it only when a fit begins.
"""

from .announce import announce_compiling

announce_compiling()
