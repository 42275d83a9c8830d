"""Public names that are imported on first use, so that `import srh` and the child stay light.

It imports nothing: see ``srh.environment``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a module-level ``__getattr__`` for a package.

    Args:
        package: Name of the package.
        homes: Module by public name.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module(homes[name]), name)

    return find
