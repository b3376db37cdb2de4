"""The version, the same as the daemon's."""

__version__ = "0.1.0"
