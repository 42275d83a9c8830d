"""The command line."""

from __future__ import annotations

from srh.cli.commands import app, main

__all__ = ["app", "main"]
