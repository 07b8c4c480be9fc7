"""Models behind HTTP, by the routes that clients of OpenAI's know; see `tilewright serve`."""

from tilewright.serving.app import App
from tilewright.serving.server import Limits, Server

__all__ = ["App", "Limits", "Server"]
