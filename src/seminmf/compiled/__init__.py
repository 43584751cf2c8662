"""Compiled code: the one iteration, its kernels, and the structures that they take.

Nothing here knows an estimator or a loss by name. Importing it loads the compiler, which is why the
estimators do so only when a fit begins.
"""

from .announce import announce_compiling

announce_compiling()
