"""Replays the transcripts that both ends of the channel share, as the host."""

from __future__ import annotations

import json
import re
import unittest
from typing import Any

from .host import RUNNER, Runner

TRANSCRIPTS = RUNNER.parent.parent / "internal" / "channel" / "testdata"


def matches(expected: Any, actual: Any) -> bool:
    """Compare exactly, but let a {{name}} stand for any string."""
    if isinstance(expected, str) and re.fullmatch(r"\{\{\w+\}\}", expected):
        return isinstance(actual, str)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(matches(expected[key], actual[key]) for key in expected)
    return type(expected) is type(actual) and bool(expected == actual)


class Transcripts(unittest.TestCase):
    def test_every_transcript(self) -> None:
        paths = sorted(TRANSCRIPTS.glob("*.json"))
        self.assertGreater(len(paths), 10)
        for path in paths:
            with self.subTest(path.stem):
                self.replay(json.loads(path.read_text("utf-8")))

    def replay(self, steps: Any) -> None:
        with Runner() as runner:
            for number, step in enumerate(steps):
                if step["from"] == "host":
                    runner.send(step["frame"])
                    if step["frame"]["type"] == "start":
                        marker = bytes.fromhex(step["frame"]["marker"])
                    continue
                frame = runner.receive()
                self.assertTrue(matches(step["frame"], frame), f"step {number}: got {frame}")
                if frame["type"] == "done":
                    runner.output_until(marker)


if __name__ == "__main__":
    unittest.main()
