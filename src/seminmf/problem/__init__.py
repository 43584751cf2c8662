"""What is minimised: losses, penalties, the objective of both, and how near a point is to its end."""
