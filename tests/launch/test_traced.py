"""mpiexec --trace: slices, arrows and limits (profiled.c)."""

import json
import os
import unittest

from common import LaunchTest

PROGRAM = os.environ["HEARTH_PROFILED_PROGRAM"]


class Trace(LaunchTest):
    def trace(self, ranks, what, code=0):
        file = self.folder / "trace.json"
        options = ("-n", ranks, "--oversubscribe", "--trace", file)
        self.stderr = self.run_mpiexec(*options, PROGRAM, what, code=code).stderr
        with open(file, encoding="utf-8") as text:
            return json.load(text)["traceEvents"]

    def check_slices(self, events):
        """On each track, slices are nested or disjoint."""
        tracks = {}
        for event in events:
            if event["ph"] == "X":
                tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], -event["dur"]))
        for slices in tracks.values():
            open_until = []
            for begin, length in sorted(slices):
                end = begin - length
                while open_until and open_until[-1] <= begin + 0.002:
                    open_until.pop()
                if open_until:
                    self.assertLessEqual(end, open_until[-1] + 0.002)
                open_until.append(end)

    def test_calls_waits_and_arrows(self):
        events = self.trace(3, "counts")
        self.check_slices(events)
        calls = [event for event in events if event["ph"] == "X" and event["cat"] == "call"]
        self.assertEqual(sum(call["name"] == "MPI_Send" for call in calls), 408)
        self.assertEqual(sum(call["name"] == "MPI_Recv" for call in calls), 408)
        self.assertEqual({call["pid"] for call in calls}, {0, 1, 2})
        begins = [event["id"] for event in events if event["ph"] == "s"]
        ends = [event["id"] for event in events if event["ph"] == "f"]
        self.assertEqual(len(begins), 408)
        self.assertEqual(sorted(begins), sorted(ends))
        # The sender's end of an arrow comes first, and each end lies in a call of its rank.
        at = {(event["ph"], event["id"]): event for event in events if event["ph"] in "sf"}
        by_rank = {}
        for call in calls:
            by_rank.setdefault(call["pid"], []).append((call["ts"], call["ts"] + call["dur"]))
        for name in begins:
            begin, end = at["s", name], at["f", name]
            for event in begin, end:
                times = by_rank[event["pid"]]
                self.assertTrue(any(first - 0.002 <= event["ts"] <= last + 0.002 for first, last in times))
        marks = [event["args"] for event in events if event["ph"] == "i" and event["name"] == "sent"]
        self.assertEqual(sum(mark["bytes"] for mark in marks), 3200 + 5000 + 3 * (1 << 20))

    def test_late_sender(self):
        events = self.trace(2, "late_sender")
        waits = [event for event in events if event["ph"] == "X" and event["name"] == "wait: late sender"]
        longest = max(waits, key=lambda event: event["dur"])
        self.assertEqual((longest["pid"], longest["args"]["peer"]), (1, 0))
        self.assertGreater(longest["dur"], 30000)

    def test_killed_rank_leaves_its_events(self):
        events = self.trace(3, "killed", code=137)
        self.assertTrue(any(event["ph"] == "X" and event["pid"] == 1 for event in events))

    def test_full_buffer_is_told(self):
        events = self.trace(2, "many")
        self.check_slices(events)
        self.assertIn("later ones found no room", self.stderr)
        dropped = [event["args"]["dropped"] for event in events if event["name"] == "trace_of"]
        self.assertGreater(dropped[0], 0)


if __name__ == "__main__":
    unittest.main()
