"""The objective: losses, penalties, their strength, the basis step, and stationarity."""
