"""The bundle's first lines: they import the runner from text, or from the image.

``embed.go`` appends a call of load or boot with the hash and the sources.
"""

import os
import sys
import types


def boot(runner_hash, sources):
    """Serve the channel. Does not return."""
    load(runner_hash, sources)
    sys.modules["ptc_runner.session"].main(runner_hash)


def load(runner_hash, sources):
    """Import the runner, and start nothing."""
    prepared = "/opt/ptc-mcp/runner-" + runner_hash
    if os.path.isdir(prepared):
        sys.path.insert(0, prepared)
    else:
        sys.meta_path.insert(0, Sources(sources))
    import ptc_runner.session

    if sys.path[0] == prepared:
        del sys.path[0]
    else:
        del sys.meta_path[0]


class Sources:
    """Imports the package from a dict of source texts by module name."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        is_package = name == "ptc_runner"
        spec = type(sys.__spec__)(name, self, is_package=is_package)
        return spec

    def create_module(self, spec):
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        name = module.__name__
        exec(compile(self.sources[name], f"<{name}>", "exec", dont_inherit=True), module.__dict__)
