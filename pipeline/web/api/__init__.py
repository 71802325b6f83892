"""The same actions for other front ends: JSON, bearer tokens, no cookies."""
