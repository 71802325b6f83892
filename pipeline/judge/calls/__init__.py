"""Calls to models: remembered, limited, repeated and paid for."""
