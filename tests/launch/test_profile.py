#!/usr/bin/env python3
"""The profile of a machine: mpiexec finds it and hands it to the ranks, hearth info says so."""

import json
import subprocess
import unittest

from common import BIN, LIMIT_S, LaunchTest, shell


class Profile(LaunchTest):
    def info(self, env=None):
        result = subprocess.run([str(BIN / "hearth"), "info", "--json"], env=self.environment(env), text=True,
                                capture_output=True, timeout=LIMIT_S, check=True)
        return json.loads(result.stdout)

    def write(self, name="profile.json", **changes):
        """A profile for this machine, or for one that differs."""
        here = self.info()["profile"]
        machine = {key: here[key] for key in ("processor", "topology", "kernel", "hypervisor")} | changes
        thresholds = {"p2p_single_copy_bytes_min": {"value": 123456, "finding": "measured"},
                      "p2p_part_bytes_max": {"finding": "the default is as good"}}
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({
            "format": "hearth profile", "version": 1, "made": "now", "made_by": "a test", "machine": machine,
            "relations": {name: {"thresholds": thresholds} for name in ("l3", "unknown")}}))
        return str(path)

    def tuned(self, env):
        """What two ranks are handed, and what mpiexec says."""
        result = self.run_mpiexec("-n", 2, "--oversubscribe", *shell('echo "[$HEARTH_TUNED]"'), env=env)
        words = set(result.stdout.splitlines())
        self.assertEqual(len(words), 1, result.stdout)
        return words.pop(), result.stderr

    def test_all_ranks_get_the_values(self):
        path = self.write()
        words, said = self.tuned({"HEARTH_PROFILE": path, "HEARTH_TUNED": "of an mpiexec around this one"})
        expected = "p2p_single_copy_bytes_min:l3=123456;p2p_single_copy_bytes_min:unknown=123456"
        self.assertEqual(words, f"[{expected}]")
        self.assertEqual(said, "")

    def test_it_is_found_in_the_home(self):
        self.write(".cache/hearth/profile.json")
        words, _ = self.tuned({"HOME": str(self.folder), "HEARTH_PROFILE": ""})
        self.assertIn("123456", words)
        self.write(".config/hearth/profile.json", kernel="0.1")
        words, said = self.tuned({"HOME": str(self.folder), "HEARTH_PROFILE": ""})
        self.assertIn("123456", words)
        self.assertRegex(said, r"^mpiexec: note: profile '.*/.config/.*profile.json' is ignored: .* '0.1'")

    def test_one_that_cannot_be_used_is_passed_over_with_one_line(self):
        broken = self.script("broken.json", "{}")
        for path, told in ((self.write(topology="none"), "it was made on another machine: topology 'none'"),
                           (str(broken), "'format' is missing"), ("nowhere.json", "is not there")):
            words, said = self.tuned({"HEARTH_PROFILE": path})
            self.assertEqual(words, "[]")
            self.assertEqual(len(said.splitlines()), 1, said)
            self.assertIn(told, said)

    def test_info_shows_value_and_source(self):
        path = self.write()
        document = self.info({"HEARTH_PROFILE": path})
        self.assertEqual(document["profile"]["file"], path)
        rows = {(row["threshold"], row["both_share"]): row for row in document["thresholds"]}
        row = rows["p2p_single_copy_bytes_min", "unknown"]
        self.assertEqual((row["value"], row["source"]), (123456, "profile"))
        self.assertEqual(rows["p2p_part_bytes_max", "unknown"]["source"], "default")
        self.assertEqual(rows["p2p_single_copy_bytes_min", "self"]["source"], "default")
        document = self.info({"HEARTH_PROFILE": path, "HEARTH_P2P_SINGLE_COPY_BYTES_MIN": "7K"})
        rows = {(row["threshold"], row["both_share"]): row for row in document["thresholds"]}
        row = rows["p2p_single_copy_bytes_min", "unknown"]
        self.assertEqual((row["value"], row["source"]), (7168, "environment"))


if __name__ == "__main__":
    unittest.main()
