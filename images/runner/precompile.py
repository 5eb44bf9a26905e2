"""Install a precompiled copy of the runner: python3 precompile.py /opt/ptc-mcp

The copy lies in runner-<hash>, where a bundle with the same hash finds it.
"""

import hashlib
import pathlib
import py_compile
import shutil
import sys


def main() -> None:
    """Copy the package below the folder given and compile it."""
    package = pathlib.Path(__file__).resolve().parent / "ptc_runner"
    modules = sorted(package.glob("*.py"), key=lambda path: path.name)
    digest = hashlib.sha256()
    for module in modules:
        digest.update(module.name.encode() + b"\0" + module.read_bytes() + b"\0")
    target = pathlib.Path(sys.argv[1]) / f"runner-{digest.hexdigest()[:16]}" / "ptc_runner"
    target.mkdir(parents=True)
    for module in modules:
        copy = target / module.name
        shutil.copyfile(module, copy)
        # Unchecked: the file's time may change when the image is built or moved.
        py_compile.compile(
            str(copy), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )


if __name__ == "__main__":
    main()
