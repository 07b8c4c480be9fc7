"""Files of models, read as they are: weights, configurations and vocabularies.

Weights are mapped, not read, and nothing beyond NumPy is needed. A file that is damaged, or made to
do harm, is a ModelError that names it; what a file says of sizes is checked against what it has.
"""

from tilewright.models.files.config import ModelFolder, open_folder
from tilewright.models.files.errors import ModelError
from tilewright.models.files.gguf import GgufTensors, open_gguf
from tilewright.models.files.gguf_metadata import GgufMetadata
from tilewright.models.files.gguf_tokens import GgufTokens, gguf_tokens
from tilewright.models.files.safetensors import SafetensorsTensors, open_safetensors
from tilewright.models.files.tensors import StoredTensor, StoredTensors

__all__ = [
    "GgufMetadata",
    "GgufTensors",
    "GgufTokens",
    "ModelError",
    "ModelFolder",
    "SafetensorsTensors",
    "StoredTensor",
    "StoredTensors",
    "gguf_tokens",
    "open_folder",
    "open_gguf",
    "open_safetensors",
]
