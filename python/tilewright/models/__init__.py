"""Models of what people have: files of weights, their configurations and vocabularies.

load() makes the model of a folder or a file on a device; open_safetensors() and open_gguf() read
files alone.
"""

from tilewright.models.decoders.decoder import Decoder
from tilewright.models.encoders.embedder import Encoder
from tilewright.models.files import ModelError, open_gguf, open_safetensors
from tilewright.models.loading import load

__all__ = ["Decoder", "Encoder", "ModelError", "load", "open_gguf", "open_safetensors"]
