"""Threads that share the work of one compiled call, and the rule for how many there are."""
