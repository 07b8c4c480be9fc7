"""Which kind of model a command takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tilewright

from .options import WrongUse


def check_no_onnx(path: str) -> None:
    """Before a file is read."""
    if Path(path).suffix.lower() == ".onnx":
        raise WrongUse(
            f"{path} is a file of ONNX, a function of arrays without a vocabulary; in Python "
            "tilewright.models.load() makes one of it"
        )


def to_decoder(path: str, model: Any) -> tilewright.models.Decoder:
    if not isinstance(model, tilewright.models.Decoder):
        raise WrongUse(f"{path} has an encoder; tilewright embed is for those")
    return model


def to_encoder(path: str, model: Any) -> tilewright.models.Encoder:
    if not isinstance(model, tilewright.models.Encoder):
        raise WrongUse(f"{path} has a decoder, and embeddings are made by encoders")
    return model
