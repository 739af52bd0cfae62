"""Arrays and one JSON text as the bytes of a safetensors file, and back.

The text stands in the file's header and holds a SHA-256 of the whole file (computed with zeros in
the digest's own place), so that damage is detected.
"""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from .. import __version__
from .table import Arrays

FORMAT = "dapdag-model"
FORMAT_VERSION = 7

_KEY = "dapdag"
_NO_DIGEST = "0" * 64
MAX_HEADER = 100_000_000  # bytes, as safetensors has it
_DAMAGED = "it is not a safetensors file, or was cut short: copy it again, or save it again"


def read_file(path: Path) -> bytes:
    """The whole file, unless its header says already that it is none of ours."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or length > min(size - 8, MAX_HEADER):
            raise ValueError(_DAMAGED)
        start += file.read(length)
        _header(start)
        if (whole := _end_of_arrays(start)) != size:
            raise ValueError(
                f"it is damaged, it has {size:,} bytes and should have {whole:,}: copy it again "
                "from where it was saved, or save the model again"
            )
        return start + file.read()


def _end_of_arrays(start: bytes) -> int:
    """Where the file ends, by the offsets of its arrays in its header."""
    try:
        entries = json.loads(start[8:])
        ends = [one["data_offsets"][1] for key, one in entries.items() if key != "__metadata__"]
        return len(start) + int(max(ends, default=0))
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(_DAMAGED) from error


def to_bytes(header: dict[str, Any], arrays: Arrays) -> bytes:
    """The file's content; equal estimators give equal bytes."""
    # The digest comes first, so that the zeros it replaces are the first ones in the file. One
    # text holds everything: safetensors writes several entries in no fixed order.
    about = {
        "sha256": _NO_DIGEST,
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "dapdag_version": __version__,
    }
    text = json.dumps(about | header, allow_nan=False)
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    data = save_tensors(contiguous, {_KEY: text})
    return data.replace(_NO_DIGEST.encode(), hashlib.sha256(data).hexdigest().encode(), 1)


def from_bytes(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a file, after every check that needs no knowledge of models."""
    header = _header(data)
    version = header.get("format_version")
    if header.get("format") != FORMAT or type(version) is not int or version < 1:
        raise ValueError("its header is not one of a dapdag model: save the model again")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"it was written by a newer dapdag (format {version}); this one reads up to "
            f"{FORMAT_VERSION}: upgrade dapdag"
        )
    if version < FORMAT_VERSION:
        raise ValueError(
            f"it was written by a development version of dapdag (format {version}); this one reads "
            f"format {FORMAT_VERSION}: fit and save the model again"
        )
    digest = header.get("sha256")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise ValueError("it has no checksum: save the model again")
    blank = data.replace(digest.encode(), _NO_DIGEST.encode(), 1)
    if hashlib.sha256(blank).hexdigest() != digest:
        raise ValueError(
            "it is damaged, its content does not match its checksum: copy it again from where it "
            "was saved, or save the model again"
        )
    try:
        return header, load_tensors(data)
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"its arrays cannot be read ({error}): save the model again") from error


def _header(data: bytes) -> dict[str, Any]:
    """The JSON text in the header of a safetensors file: 8 bytes for its length, then it."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > len(data) - 8:
        raise ValueError(_DAMAGED)
    try:
        outer = json.loads(data[8 : 8 + length])
        metadata = outer.get("__metadata__", {})
        text = metadata.get(_KEY)
    except (AttributeError, ValueError, RecursionError) as error:
        raise ValueError(_DAMAGED) from error
    if text is None:
        raise ValueError(
            "it is a safetensors file of another program, not a model that dapdag saved"
        )
    try:
        header = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError("its header is damaged: copy it again, or save it again") from error
    if not isinstance(header, dict):
        raise ValueError("its header is damaged: copy it again, or save it again")
    return header
