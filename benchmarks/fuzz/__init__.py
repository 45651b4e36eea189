"""Mutated inputs through every command: no traceback, no hang, no clean verdict on what cannot be read."""
