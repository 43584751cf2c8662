"""Generated fits of every kind, each held against the promises of the documentation.

A case follows from its number alone: ``python -m fuzz 1234`` in the folder of the tests makes case
1234 again and says what is wrong with it. ``make fuzz`` goes on until it is stopped.
"""
