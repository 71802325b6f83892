"""Route policy: which grades may stand alone."""
