"""Tests of the runner: python3 -m unittest, in images/runner."""
