"""templatelint: what a chat template really does, judged by the engine that runs it."""

__version__ = "0.1.0"
