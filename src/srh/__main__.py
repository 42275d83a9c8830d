"""``python -m srh``: the same as the command ``srh``."""

from srh.cli import main

main()
