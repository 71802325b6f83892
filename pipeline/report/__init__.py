"""Batch reports: collect what the store knows, turn it into sections and figures, render one HTML file."""
