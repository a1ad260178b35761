#!/usr/bin/env python3
"""Jobs in poor surroundings: no room in /dev/shm, no network at all, an empty /sys.

Each is made with a mount or network namespace of the test's own; where that is not allowed the test says so
and is skipped.
"""

import os
import subprocess
import unittest

from common import LIMIT_S, MPIEXEC, LaunchTest

RING = os.environ["HEARTH_RING_PROGRAM"]  # built from tests/multi/ring.c


def namespaces_allowed():
    try:
        tried = subprocess.run(["unshare", "-m", "-n", "true"], capture_output=True, check=False)
        return tried.returncode == 0
    except OSError:
        return False


@unittest.skipUnless(namespaces_allowed(), "needs the right to make namespaces (root)")
class Surroundings(LaunchTest):
    def run_inside(self, prepare, unshare_options=("-m",)):
        """Runs the ring of 3 ranks in new namespaces, after some shell commands."""
        script = f'{prepare} && exec "$@"'
        job = [MPIEXEC, "-n", "3", "--oversubscribe", RING]
        result = subprocess.run(
            ["unshare", *unshare_options, "sh", "-c", script, "sh", *job],
            capture_output=True, text=True, timeout=LIMIT_S, check=False, env=self.environment(),
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stderr, "")

    def test_dev_shm_without_room(self):
        # 4 KiB: any file of a job in there would end it with SIGBUS or ENOSPC.
        self.run_inside(
            "mount -t tmpfs -o size=4k none /dev/shm && ! head -c 8192 /dev/zero >/dev/shm/x 2>/dev/null"
        )

    def test_no_network(self):
        # Not even the loopback device is up.
        self.run_inside("true", ("-n",))

    def test_empty_sys(self):
        self.run_inside("mount -t tmpfs none /sys && test -z \"$(ls /sys)\"")


if __name__ == "__main__":
    unittest.main()
