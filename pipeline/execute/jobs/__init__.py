"""What runs inside confined workers: each job takes a frame and returns a frame."""
