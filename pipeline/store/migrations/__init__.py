"""Ordered schema migrations: ``NNN_name.sql``, applied once each, never edited after a release."""
