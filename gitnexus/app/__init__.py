"""Opens a project (`Nexus`); the modules here set up, check, repair and remove a project."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.projects.open_project import Nexus, open_nexus

__all__ = ["Nexus", "open_nexus"]


def __getattr__(name: str) -> Any:
    # Imported on demand: a program's hook runs before every tool and needs none of this.
    if name in __all__:
        from gitnexus.projects import open_project as opened

        return getattr(opened, name)
    raise AttributeError(name)
