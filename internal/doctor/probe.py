"""Tries to leave the sandbox, and emits what came of it."""

import json
import os
import platform
import socket

PARAMETERS = "{}"
bait = json.loads(PARAMETERS)


def attempt(action):
    try:
        return {"reached": True, "detail": action()}
    except OSError as error:
        reason = error.strerror or str(error)
        return {"reached": False, "detail": f"refused: {reason}"}


def connect():
    error = None
    for address in bait["addresses"]:
        try:
            socket.create_connection((address, bait["port"]), timeout=2).close()
            return f"connected to the host at {address}"
        except OSError as caught:
            error = caught
    raise error


def read_host_file():
    with open(bait["file"]) as file:
        file.read()
    return f"read {bait['file']}"


def write_to_the_system():
    error = None
    for folder in ("/usr", "/etc", "/"):
        path = os.path.join(folder, f".ptc-mcp-probe-{bait['pid']}")
        try:
            with open(path, "w"):
                pass
            os.unlink(path)
            return f"wrote to {folder}"
        except OSError as caught:
            error = caught
    raise error


def see_the_host_process():
    # Signal 0 is not delivered. A process that may not be signalled is seen
    # all the same.
    try:
        os.kill(bait["pid"], 0)
    except PermissionError:
        pass
    return f"process {bait['pid']} of the host is visible"


emit(
    {
        "network": attempt(connect),
        "files": attempt(read_host_file),
        "system": attempt(write_to_the_system),
        "processes": attempt(see_the_host_process),
        "environment": sorted(os.environ),
        "uid": os.getuid() if hasattr(os, "getuid") else -1,
        "python": platform.python_version(),
    }
)
