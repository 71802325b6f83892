"""NKI on a CPU: a frontend that records, legality that refuses, a machine that executes.

Stands alone: it imports nothing of the rest of the project.
"""
