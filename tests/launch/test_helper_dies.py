#!/usr/bin/env python3
"""A sender dies with a piece of its message in its hands: the receiver copies that piece itself."""

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
                "HEARTH_LAUNCH_GRACE": "30s",  # long before that it has ended itself
                "HEARTH_P2P_STORES": "plain",  # the two count as near
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
