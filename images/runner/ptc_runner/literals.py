"""Literal arguments that no reading of a tool's schema allows.

Servers take more than they declare: "5" for a number, "Open" for open, anything
for a boolean. So only what cannot be taken for an allowed value is found wrong,
and all that is no plain literal is left to the server.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, List, Mapping, Optional, Union

from . import signature

Declared = Union[str, List[str]]

# Texts without a digit that are numbers to some servers.
_NUMBERS = {"", "inf", "infinity", "nan", "true", "false", "none", "null"}


def fault(declared: Dict[str, Declared], arguments: Mapping[Any, Any]) -> Optional[str]:
    """Return what is wrong with the first argument that cannot be right, given as syntax."""
    for name, wanted in declared.items():
        node = arguments.get(name)
        if isinstance(node, ast.AST):
            found = _of_texts(node, wanted) if isinstance(wanted, list) else _of_number(node, wanted)
            if found:
                return f"argument {name!r} {found}"
    return None


def _of_texts(node: ast.AST, allowed: List[str]) -> Optional[str]:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    given = _letters(node.value)
    if not given or any(given == _letters(text) for text in allowed):
        return None
    near = signature.nearest(node.value, allowed)
    hint = f"; nearest: {near[0]!r}" if near else ""
    return f"cannot be {node.value[:60]!r}, only {' or '.join(map(repr, allowed[:12]))}{hint}"


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def _of_number(node: ast.AST, wanted: str) -> Optional[str]:
    """Find a dict, or a text without a digit. A list of one number is a number to some servers."""
    article = "an" if wanted == "integer" else "a"
    if isinstance(node, ast.Dict):
        return f"must be {article} {wanted}, not a dict"
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    text = node.value.strip().lower().lstrip("+-")
    if text in _NUMBERS or any(character.isdigit() for character in text):
        return None
    return f"must be {article} {wanted}, not {node.value[:60]!r}"
