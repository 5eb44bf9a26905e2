"""The conversion of values on their way out."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import types
import unittest
import uuid
from typing import Any, List, NamedTuple

from ptc_runner.values import MAX_DEPTH, Converter


@dataclasses.dataclass
class Point:
    x: int
    y: Any


class Pair(NamedTuple):
    left: int
    right: Any


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Values(unittest.TestCase):
    def setUp(self) -> None:
        self.warnings: List[str] = []

    def encode(self, value: Any) -> bytes:
        return Converter("value", lambda kind, text: self.warnings.append(f"{kind}: {text}")).encode(value)

    def convert(self, value: Any) -> Any:
        return json.loads(self.encode(value))

    def refusal(self, value: Any) -> str:
        with self.assertRaises(TypeError) as caught:
            self.encode(value)
        return str(caught.exception)

    def test_each_kind_of_value(self) -> None:
        identity = uuid.UUID(int=1)
        for value, expected in (
            (None, None),
            (True, True),
            (10**400, 10**400),
            (0.5, 0.5),
            ("é\u2028\0", "é\u2028\0"),
            ((1, (2,)), [1, [2]]),
            (range(3), [0, 1, 2]),
            (collections.deque([1]), [1]),
            ({"a": 1}.keys(), ["a"]),
            ({"b", "a"}, ["a", "b"]),
            (frozenset([2, 1]), [1, 2]),
            (datetime.date(2024, 1, 2), "2024-01-02"),
            (datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc), "2024-01-02T03:04:05+00:00"),
            (datetime.time(3, 4), "03:04:00"),
            (Point(1, Pair(2, {3})), {"x": 1, "y": {"left": 2, "right": [3]}}),
            (Colour.RED, "red"),
            (Level.HIGH, 3),
            (b"abc", "YWJj"),
            (bytearray(b"abc"), "YWJj"),
            (memoryview(b"abc"), "YWJj"),
            (pathlib.PurePosixPath("/a/b"), "/a/b"),
            (identity, str(identity)),
            (decimal.Decimal("1.50"), "1.50"),
            (collections.Counter("aab"), {"a": 2, "b": 1}),
            (types.MappingProxyType({"a": 1}), {"a": 1}),
            ({Colour.RED: 1}, {"red": 1}),
        ):
            with self.subTest(repr(value)):
                self.assertEqual(self.convert(value), expected)
        self.assertEqual(self.warnings, [])

    def test_numbers_that_json_does_not_have_become_null(self) -> None:
        self.assertEqual(self.convert({"a": [float("nan"), float("inf")]}), {"a": [None, None]})
        self.assertEqual(self.warnings[0], "nan: value.a[0] is nan, which JSON does not have: null was used")

    def test_keys_become_strings(self) -> None:
        value = {2: 1, None: 2, True: 3, datetime.date(2024, 1, 2): 4, (1, 2): 5}
        self.assertEqual(self.convert(value), {"2": 1, "null": 2, "true": 3, "2024-01-02": 4, "(1, 2)": 5})
        self.assertEqual(self.warnings[0], "key: value has the key 2, which is no string: its text was used")

    def test_lone_surrogates_are_replaced_and_pairs_joined(self) -> None:
        self.assertEqual(self.encode(["a\ud800b", "\ud83d\ude00"]), '["a\ufffdb","\U0001f600"]'.encode())

    def test_anything_else_names_the_path(self) -> None:
        self.assertEqual(
            self.refusal({"items": [1, {"when it": object()}]}),
            "value.items[1]['when it'] is of type object, which cannot be sent as JSON: pass a dict, list, str or number",
        )
        self.assertIn("value[0] is of type generator: use list(...)", self.refusal([(i for i in "ab")]))
        self.assertIn("value is of type type", self.refusal(Point))
        self.assertIn("value is of type timedelta", self.refusal(datetime.timedelta(1)))

    def test_what_contains_itself_is_refused(self) -> None:
        loop: List[Any] = []
        loop.append({"a": loop})
        self.assertIn("or contains itself", self.refusal(loop))
        self.assertLess(len(self.refusal(loop)), 200)

    def test_depth_is_bounded(self) -> None:
        deep: Any = 1
        for _ in range(MAX_DEPTH + 1):
            deep = [deep]
        self.convert(deep)
        self.assertIn("nested deeper", self.refusal([deep]))


if __name__ == "__main__":
    unittest.main()
