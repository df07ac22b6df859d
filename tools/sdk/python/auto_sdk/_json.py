"""What a trace can hold, and the text by which values are compared.

Texts made here never leave the process as digests: stores make their own.
"""

from __future__ import annotations

import json
import math
from typing import Any

# A line of a trace is itself an object, and readers stop at 64 levels.
MAX_DEPTH = 63
# Readers keep numbers exactly, to 38 digits.
MAX_INTEGER = 10**38 - 1


class RecordingError(Exception):
    """Something cannot be recorded; says what, where, and what to do."""


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode


def to_json(value: Any, what: str) -> str:
    """The value as compact JSON with sorted keys: equal texts are equal values.

    ``3`` and ``3.0`` differ. Raises RecordingError with the place inside ``what``.
    """
    return _encode(_checked(value, what, 0))


def _checked(value: Any, place: Any, depth: int) -> Any:
    """The value in types of JSON alone. A place is a name, or a place and what is inside it;
    it is put into words only where something is wrong."""
    if depth > MAX_DEPTH:
        told = _told(place)
        raise RecordingError(f"{told} is nested more than {MAX_DEPTH} deep (or contains itself); record less of it")
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return value if type(value) is str and value.isascii() else _text(value, place)
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise RecordingError(f"{_told(place)} is an integer of more than 38 digits; record it as text")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            told = _told(place)
            raise RecordingError(f"{told} is {float(value)!r}, which JSON has no number for; record None or text instead")
        return float(value) if value else 0.0
    if isinstance(value, dict):
        members = {}
        for key, member in value.items():
            if not isinstance(key, str):
                raise RecordingError(f"{_told(place)} has the key {key!r}, which is not text; convert it first")
            if not (type(key) is str and key.isascii()):
                key = _text(key, f"a key of {_told(place)}")
            members[key] = _checked(member, (place, f".{key}"), depth + 1)
        return members
    if isinstance(value, (list, tuple)):
        return [_checked(item, (place, at), depth + 1) for at, item in enumerate(value)]
    raise RecordingError(f"{_told(place)} is of type {type(value).__name__}, which JSON cannot hold; convert it first")


def _told(place: Any) -> str:
    inside = []
    while isinstance(place, tuple):
        place, part = place
        inside.append(part if isinstance(part, str) else f"[{part}]")
    return "".join([place, *reversed(inside)])


def _text(text: str, place: Any) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        told = _told(place)
        raise RecordingError(f"{told} holds half a surrogate pair, which is not text; decode it properly first") from None
    return str(text)
