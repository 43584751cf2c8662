"""What is minimised: losses, penalties, the objective of both, and how near its end a point is."""
