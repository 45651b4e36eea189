"""templatelint: what a chat template really does, judged by the engine that runs it."""

TYPE_CHECKING = False  # `typing` itself costs the program's start
if TYPE_CHECKING:
    from templatelint.dialects.reader import Reader, parse

__version__ = "0.1.0"
__all__ = ["Reader", "__version__", "parse"]


def __getattr__(name: str) -> object:
    """Import what is asked for: the program's start pays for none of it."""
    if name in ("Reader", "parse"):
        from templatelint.dialects import reader

        found: object = getattr(reader, name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
