"""Evaluate what an agent proposes, reproducibly and without trusting it."""

__version__ = "0.1.0"
