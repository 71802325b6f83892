"""Puts this directory on the import path, for `program_builder`."""
