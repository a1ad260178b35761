"""Allows one comparison at a time: two would disturb each other."""

import contextlib
import fcntl
import os


class Taken(Exception):
    pass


@contextlib.contextmanager
def only_one(path):
    """Holds a lock on the file; the system releases it when the process ends for any reason."""
    with open(path, "a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise Taken(f"another comparison runs (process {holder}); wait for its end") from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
