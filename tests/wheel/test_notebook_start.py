#!/usr/bin/env python3
"""Connections of processes that are no ranks, while hearth_mpi.notebook waits for its ranks.

Needs neither Jupyter nor a build: a script in place of mpiexec opens such connections, then starts ranks."""

import os
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

PACKAGE = Path(__file__).resolve().parents[2] / "python"
sys.path.insert(0, str(PACKAGE))

from hearth_mpi import notebook  # noqa: E402

MPIEXEC = """#!{python}
import os, socket, subprocess, sys
count, closed_first, sent = int(sys.argv[2]), sys.argv[5] == "closed-first", bytes.fromhex(sys.argv[6])
strays = [socket.socket(socket.AF_UNIX) for _ in range(3)]
for stray in strays:
    stray.settimeout(20)
    stray.connect("\\0" + sys.argv[-1])
    stray.sendall(sent)
if sys.argv[7] == "end":
    for stray in strays:
        stray.close()
elif closed_first:
    for stray in strays:
        try:
            assert stray.recv(1) == b""
        except ConnectionResetError:  # closed with unread data
            pass
environments = [{{**os.environ, "HEARTH_RANK": str(rank)}} for rank in range(count)]
ranks = [subprocess.Popen(sys.argv[8:], env=environment) for environment in environments]
sys.exit(max(rank.wait(20) for rank in ranks))
"""


def message(contents):
    """In the format of multiprocessing.connection."""
    return struct.pack("!i", len(contents)) + contents


class Start(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-notebook-")
        self.addCleanup(folder.cleanup)
        program = Path(folder.name) / "bin" / "mpiexec"
        program.parent.mkdir()
        program.write_text(MPIEXEC.format(python=sys.executable))
        program.chmod(0o755)
        for change in (mock.patch.object(notebook, "prefix", lambda: Path(folder.name)),
                       mock.patch.dict(os.environ, PYTHONPATH=str(PACKAGE))):
            change.start()
            self.addCleanup(change.stop)

    def start(self, order, sent, end="stay"):
        """Starts two ranks after three connections that have sent these bytes."""
        ranks = notebook.Ranks(2, [order, sent.hex(), end])
        try:
            self.assertEqual(ranks.run("6 * 7"), [42, 42])
        finally:
            ranks.stop()

    def test_invalid_greetings_are_closed(self):
        """The script starts the ranks after the notebook has closed the other connections."""
        for name, sent in {
            "wrong key": message(b"0" * 64 + b" cells 0 1"),
            "no ASCII": message("\u00fc cells 0 1".encode()),
            "no UTF-8": message(b"\xff cells 0 1"),
            "one word": message(b"word"),
            "empty": message(b""),
            "too long": message(b"x" * 1000),
            "announced too long": struct.pack("!i", 1 << 30),
            "negative length": struct.pack("!i", -7),
            "length of 64 bits": struct.pack("!iQ", -1, 1 << 40),
        }.items():
            with self.subTest(name):
                self.start("closed-first", sent)

    def test_connections_that_end_at_once_are_closed(self):
        parts = {"nothing": b"", "part of the length": b"\0", "part": message(b"word")[:-1]}
        for name, sent in parts.items():
            with self.subTest(name):
                self.start("closed-first", sent, "end")

    def test_silent_connections_are_closed_after_a_limit(self):
        for name, sent in {"nothing": b"", "part": message(b"word")[:-1]}.items():
            with self.subTest(name), mock.patch.object(notebook, "GREETING_S_MAX", 0.2, create=True):
                self.start("closed-first", sent)

    def test_silent_connections_do_not_delay_the_ranks(self):
        """The limit of a connection is beyond the time that the whole start may take."""
        for name, sent in {"nothing": b"", "part": message(b"word")[:-1]}.items():
            with self.subTest(name), mock.patch.object(notebook, "GREETING_S_MAX", 1000.0, create=True):
                self.start("at-once", sent)


if __name__ == "__main__":
    unittest.main()
