#!/usr/bin/env python3
"""A sender dies while it copies a fragment of its own message: the receiver copies that fragment itself."""

import os
import re
import signal
import unittest

from common import LaunchTest

PROGRAM = os.environ["HEARTH_HELPER_PROGRAM"]  # helper_dies.c


class HelperDies(LaunchTest):
    def test_the_receiver_has_the_whole_message(self):
        result = self.run_mpiexec(
            "-n", 2, "--oversubscribe", PROGRAM,
            code=128 + signal.SIGKILL,
            env={
                "HEARTH_LAUNCH_GRACE": "30s",  # it ends by itself long before that
                "HEARTH_P2P_STORES": "plain",  # makes the two ranks count as close
                "HEARTH_P2P_ARENA_BYTES_MIN": "1",
                "HEARTH_P2P_COOPERATIVE_BYTES_MIN": "1",
                "HEARTH_P2P_SKEW": "0",
            },
        )
        held = re.search(r"rank 0 held a piece of message (\d+)", result.stdout)
        self.assertIsNotNone(held, result.stdout)
        self.assertIn(f"message {held.group(1)} is whole", result.stdout.splitlines())


if __name__ == "__main__":
    unittest.main()
