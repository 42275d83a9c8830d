"""Confinement: limits, and the supervision of child processes. Knows nothing of what they run."""
