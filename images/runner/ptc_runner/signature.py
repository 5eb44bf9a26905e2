"""How a tool is called: its parameters, and the binding of arguments to them.

The functions take an entry of the start frame's tool table (docs/channel.md)
and are used both when a call is made and when a program is checked.
"""

from __future__ import annotations

import difflib
import keyword
import re
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence

if TYPE_CHECKING:
    from inspect import Signature

Entry = Dict[str, Any]


def identifier(name: str) -> str:
    """Return the keyword that stands for a parameter's name: ``content-type`` is content_type."""
    word = re.sub(r"\W", "_", name)
    if not word or word[0].isdigit():
        word = "_" + word
    return word + "_" if keyword.iskeyword(word) else word


def usage(entry: Entry) -> str:
    """Return the call as a program writes it: ``mcp__a__b(path, depth=...)``."""
    required = entry.get("r", ())
    parts = [identifier(name) + ("" if name in required else "=...") for name in entry["p"]]
    return f"{entry['n']}({', '.join(parts)})"


def signature(entry: Entry) -> Signature:
    """Return the tool's signature; an omitted parameter has ``...`` as its default."""
    from inspect import Parameter, Signature

    required = entry.get("r", ())
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    optional_seen = False
    for name in entry["p"]:
        if name not in required:
            optional_seen = True
        elif optional_seen:  # required after optional: only a keyword can say it
            kind = Parameter.KEYWORD_ONLY
        default = Parameter.empty if name in required else ...
        parameters.append(Parameter(identifier(name), kind, default=default))
    if not entry.get("c"):
        parameters.append(Parameter("extra", Parameter.VAR_KEYWORD))
    try:
        return Signature(parameters)
    except ValueError:  # two names that are one identifier
        return Signature([Parameter("arguments", Parameter.VAR_KEYWORD)])


def bind(entry: Entry, positional: Sequence[Any], keywords: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the arguments object of a call, or raise a TypeError that shows the correct call."""
    arguments, fault = match(entry, positional, keywords)
    if fault:
        raise TypeError(f"{entry['n']}: {fault}; call it as: await {usage(entry)}")
    return arguments


def match(
    entry: Entry, positional: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[Dict[str, Any], Optional[str]]:
    """Bind arguments and say what is wrong with them, if anything is.

    A single positional dict is the arguments object. But when the tool has
    exactly one parameter and the dict, not empty, does not have its name as a
    key, the dict is that parameter's value.
    """
    names: List[str] = entry["p"]
    if len(positional) == 1 and not keywords and isinstance(positional[0], dict):
        given = positional[0]
        if len(names) == 1 and given and names[0] not in given:
            return {names[0]: given}, None
        return dict(given), _fault(entry, given)
    if len(positional) > len(names):
        return {}, f"takes {_count(len(names), 'argument')}, {len(positional)} were given"
    arguments = dict(zip(names, positional))
    for word, value in keywords.items():
        name = word if word in names else _by_identifier(names, word)
        if name in arguments:
            return {}, f"argument {word!r} was given twice"
        arguments[name] = value
    return arguments, _fault(entry, arguments)


def _by_identifier(names: Sequence[str], word: str) -> str:
    return next((name for name in names if identifier(name) == word), word)


def _fault(entry: Entry, arguments: Mapping[Any, Any]) -> Optional[str]:
    missing = [name for name in entry.get("r", ()) if name not in arguments]
    unknown = [name for name in arguments if name not in entry["p"] and _plainly_unknown(entry, name, arguments)]
    faults = []
    if missing:
        faults.append("missing " + ", ".join(map(repr, missing)))
    if unknown:
        faults.append("unknown " + ", ".join(map(repr, unknown)))
    return " and ".join(faults) + f" argument{'s' * (len(missing) + len(unknown) > 1)}" if faults else None


def _plainly_unknown(entry: Entry, name: Any, arguments: Mapping[Any, Any]) -> bool:
    """Tell a misspelling from an extra argument that an open schema allows."""
    if entry.get("c"):
        return True
    free = {_letters(known) for known in entry["p"] if known not in arguments}
    return _letters(str(name)) in free


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def nearest(name: str, names: Sequence[str]) -> List[str]:
    """Return up to three names like name, nearest first."""
    return difflib.get_close_matches(name, names, n=3, cutoff=0.5)


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
