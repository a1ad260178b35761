"""Processes and files that a job leaves behind: its processes have a mark in their environment."""

import contextlib
import os
import signal
import time
from pathlib import Path

MARK = "HEARTH_TEST_MARK"  # the variable


def processes_with(mark):
    """Processes with the mark in their environment, as (number, command line)."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(
                    (int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
                )
        except OSError:
            pass  # ended meanwhile, or not ours
    return found


def end_processes_with(mark):
    """Kills the processes with the mark; returns them."""
    found = processes_with(mark)
    for pid, _ in found:
        with contextlib.suppress(ProcessLookupError):  # ended meanwhile
            os.kill(pid, signal.SIGKILL)
    return found


def wait_until(condition, seconds=10.0):
    """Whether the condition becomes true within the time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def shared_files():
    """Named shared-memory files. Hearth creates none."""
    try:
        return {name for name in os.listdir("/dev/shm") if "hearth" in name}
    except OSError:
        return set()
