"""The calibration report: what a judge's probabilities are worth, and what may stand on them."""
