"""Files from strangers: seeded mutations of good ones, opened in a process that may die.

    PYTHONPATH=tests python -m hostile --cases 20000 --seed 0

Each case is a good file (`good`) and a change of it (`changes`), both drawn from the seed and the
number of the case, so that ``--only NUMBER`` makes it again. A process with little memory opens one
after the other (`opening`), and another takes over where it dies. What may come out is a load or
one of our errors; nothing else.
"""
