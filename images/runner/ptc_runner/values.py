"""Values on their way out: what a program passes to tools and to emit, as JSON.

=====================================  ====================================
Python                                 JSON
=====================================  ====================================
None, bool, int, float, str            the same; NaN and infinities null
dict and other mappings                object; keys become strings
list, tuple, range, deque, dict views  array
set, frozenset                         array, sorted where that is possible
date, time, datetime                   string, ISO 8601
dataclass, object with ``_asdict``     object
Enum                                   its value
bytes, bytearray, memoryview           string, base64
Path, UUID, Decimal                    string
anything else                          TypeError that names the path
=====================================  ====================================
"""

from __future__ import annotations

import base64
import collections
import collections.abc
import enum
import json
import math
import os
import sys
from typing import Any, Callable, Optional, Tuple

MAX_DEPTH = 150  # the host accepts 200 for a whole frame

# A path is its last step and the path before it; None is the root. Linked, so
# that a step costs no more than a pair.
_Path = Optional[Tuple[Any, Any]]

_PLAIN = frozenset({str, int, bool, type(None)})
_ARRAYS = (list, tuple, range, collections.deque, collections.abc.KeysView, collections.abc.ValuesView)
_AS_TEXT = (("decimal", "Decimal"), ("uuid", "UUID"))



def _make_encoder() -> Callable[[Any], str]:
    """Return the standard encoder without what it does anew for every value, where that is possible."""
    usual = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))
    encoder: Any = json.encoder
    try:
        chunks = encoder.c_make_encoder(
            None, usual.default, encoder.encode_basestring, None, ":", ",", False, False, True
        )
        if "".join(chunks({"a": ["\u00e9", 1, None]}, 0)) != '{"a":["\u00e9",1,null]}':
            return usual.encode
    except (AttributeError, TypeError):
        return usual.encode  # an interpreter that makes it differently
    return lambda value: "".join(chunks(value, 0))


_encode = _make_encoder()


class Converter:
    """Turns one value into JSON.

    ``root`` names the value in errors. ``warn(kind, text)`` is told what was
    changed in a way that loses something.
    """

    def __init__(self, root: str, warn: Callable[[str, str], None]) -> None:
        self._root = root
        self._warn = warn

    def encode(self, value: Any) -> bytes:
        """Return value as UTF-8 JSON, or raise a TypeError that names the path."""
        text = _encode(value if type(value) in _PLAIN else self._convert(value, None, 0))
        try:
            return text.encode()
        except UnicodeEncodeError:
            # Pairs of surrogates are joined, lone ones replaced.
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()

    def _convert(self, value: Any, path: _Path, depth: int) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is float:
            return self._float(value, path)
        if depth > MAX_DEPTH:
            raise TypeError(
                f"{self._name(path, 12)} is nested deeper than {MAX_DEPTH} levels, or contains itself"
            )
        if kind is dict:
            return self._object(value, path, depth)
        if kind is list:
            return self._array(value, path, depth)
        return self._other(value, path, depth)

    def _float(self, value: float, path: _Path) -> Optional[float]:
        if math.isfinite(value):
            return float(value)
        self._warn("nan", f"{self._name(path)} is {value!r}, which JSON does not have: null was used")
        return None

    def _object(self, value: Any, path: _Path, depth: int) -> dict[str, Any]:
        converted = {}
        for key, item in value.items():
            name = key if type(key) is str else self._key(key, path)
            converted[name] = item if type(item) in _PLAIN else self._convert(item, (key, path), depth + 1)
        return converted

    def _key(self, key: Any, path: _Path) -> str:
        if isinstance(key, enum.Enum):
            key = key.value
        if isinstance(key, str):
            return str(key)
        self._warn("key", f"{self._name(path)} has the key {key!r}, which is no string: its text was used")
        if key is None or isinstance(key, bool):
            return _encode(key)
        return str(key.isoformat() if hasattr(key, "isoformat") else key)

    def _array(self, value: Any, path: _Path, depth: int) -> list[Any]:
        return [
            item if type(item) in _PLAIN else self._convert(item, (index, path), depth + 1)
            for index, item in enumerate(value)
        ]

    def _other(self, value: Any, path: _Path, depth: int) -> Any:
        if isinstance(value, type):
            raise self._refusal(value, path)
        if isinstance(value, enum.Enum):
            return self._convert(value.value, path, depth)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return self._float(value, path)
        if hasattr(value, "_asdict"):
            return self._convert(value._asdict(), path, depth)
        if isinstance(value, collections.abc.Mapping):
            return self._object(value, path, depth)
        if isinstance(value, _ARRAYS):
            return self._array(value, path, depth)
        if isinstance(value, collections.abc.Set):
            return self._array(_sorted(value), path, depth)
        if hasattr(value, "__dataclass_fields__"):
            fields = sys.modules["dataclasses"].fields(value)
            return self._object({field.name: getattr(value, field.name) for field in fields}, path, depth)
        if hasattr(value, "isoformat"):
            return str(value.isoformat())
        if isinstance(value, (bytes, bytearray, memoryview)):
            return base64.b64encode(value).decode()
        if isinstance(value, os.PathLike):
            return os.fsdecode(value)
        if _is_text_like(value):
            return str(value)
        raise self._refusal(value, path)

    def _refusal(self, value: Any, path: _Path) -> TypeError:
        name, kind = self._name(path), type(value).__name__
        if isinstance(value, collections.abc.Awaitable):
            return TypeError(f"{name} is not a value yet but a {kind}: missing await")
        if isinstance(value, collections.abc.Iterator):
            return TypeError(f"{name} is of type {kind}: use list(...) to send its items")
        return TypeError(f"{name} is of type {kind}, which cannot be sent as JSON: pass a dict, list, str or number")

    def _name(self, path: _Path, steps: int = 1000) -> str:
        keys = []
        while path is not None:
            key, path = path
            keys.append(key)
        parts = [self._root]
        for key in list(reversed(keys))[:steps]:
            if isinstance(key, str) and key.isidentifier():
                parts.append("." + key)
            else:
                parts.append(f"[{key!r}]")
        return "".join(parts) + ("…" if len(keys) > steps else "")


def _sorted(values: Any) -> list[Any]:
    """The order of a set of strings differs from process to process: sort it."""
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def _is_text_like(value: Any) -> bool:
    """Look up the class only in modules the program has loaded; importing them costs time."""
    for module, name in _AS_TEXT:
        cls = getattr(sys.modules.get(module), name, None)
        if cls is not None and isinstance(value, cls):
            return True
    return False
