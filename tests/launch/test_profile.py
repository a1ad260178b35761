#!/usr/bin/env python3
"""The tuning profile of a machine: hearth tune writes it, mpiexec passes it to the ranks, hearth info shows
it."""

import json
import os
import subprocess
import time
import unittest

from common import BIN, LIMIT_S, MPIEXEC, LaunchTest, shell


class Profile(LaunchTest):
    def info(self, env=None):
        result = subprocess.run([str(BIN / "hearth"), "info", "--json"], env=self.environment(env), text=True,
                                capture_output=True, timeout=LIMIT_S, check=True)
        return json.loads(result.stdout)

    def write(self, name="profile.json", **changes):
        """A profile for this machine, or for one that differs in `changes`."""
        here = self.info()["profile"]
        machine = {key: here[key] for key in ("processor", "topology", "kernel", "hypervisor")} | changes
        thresholds = {"p2p_single_copy_bytes_min": {"value": 123456, "finding": "measured"},
                      "p2p_fragment_bytes_max": {"finding": "the default is as good"}}
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({
            "format": "hearth profile", "version": 1, "made": "now", "made_by": "a test", "machine": machine,
            "relations": {name: {"thresholds": thresholds} for name in ("l3", "unknown")},
            "collectives": {"thresholds": {"coll_whole_bytes_max": {"value": 6143, "finding": "measured"}}}}))
        return str(path)

    def tuned(self, env):
        """The values that two ranks receive, and mpiexec's messages."""
        result = self.run_mpiexec("-n", 2, "--oversubscribe", *shell('echo "[$HEARTH_TUNED]"'), env=env)
        words = set(result.stdout.splitlines())
        self.assertEqual(len(words), 1, result.stdout)
        return words.pop(), result.stderr

    def test_all_ranks_get_the_values(self):
        path = self.write()
        words, said = self.tuned({"HEARTH_PROFILE": path, "HEARTH_TUNED": "of an mpiexec around this one"})
        expected = ("p2p_single_copy_bytes_min:l3=123456;p2p_single_copy_bytes_min:unknown=123456;"
                    "coll_whole_bytes_max=6143")
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
        self.assertEqual(rows["p2p_fragment_bytes_max", "unknown"]["source"], "default")
        self.assertEqual(rows["p2p_single_copy_bytes_min", "self"]["source"], "default")
        row = rows["coll_whole_bytes_max", "any"]
        self.assertEqual((row["value"], row["source"]), (6143, "profile"))
        self.assertEqual(rows["coll_flat_ranks_max", "any"]["source"], "default")
        document = self.info({"HEARTH_PROFILE": path, "HEARTH_P2P_SINGLE_COPY_BYTES_MIN": "7K"})
        rows = {(row["threshold"], row["both_share"]): row for row in document["thresholds"]}
        row = rows["p2p_single_copy_bytes_min", "unknown"]
        self.assertEqual((row["value"], row["source"]), (7168, "environment"))


def tune_on_processors(count):
    """Restricts the process to this number of its processors."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


class Tune(LaunchTest):
    def tune(self, *arguments, code=0, **options):
        result = subprocess.run([str(BIN / "hearth"), "tune", "--quick", *map(str, arguments)], text=True,
                                env=self.environment({"HOME": str(self.folder), "HEARTH_PROFILE": ""}),
                                capture_output=True, timeout=LIMIT_S, check=False, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "two ranks would share the only processor")
    def test_it_writes_a_profile_that_the_next_job_uses(self):
        picture = self.folder / "new" / "curves.svg"
        begin = time.monotonic()
        said = self.tune("--plot", picture).stdout
        self.assertLess(time.monotonic() - begin, 45)
        path = self.folder / ".cache" / "hearth" / "profile.json"
        self.assertIn(str(path), said)
        document = json.loads(path.read_text())
        self.assertTrue(document["relations"])
        for relation in document["relations"].values():
            self.assertIn("p2p_single_copy_bytes_min", relation["thresholds"])
            self.assertTrue(relation["curves"]["bounce buffers"])
        self.assertIn("<svg", picture.read_text())
        env = {"HOME": str(self.folder), "HEARTH_PROFILE": ""}
        result = self.run_mpiexec("-n", 2, "--oversubscribe", *shell('echo "$HEARTH_TUNED"'), env=env)
        self.assertEqual(result.stderr, "")
        info = subprocess.run([str(BIN / "hearth"), "info", "--json"], env=self.environment(env), text=True,
                              capture_output=True, timeout=LIMIT_S, check=True)
        facts = json.loads(info.stdout)["profile"]
        self.assertEqual((facts["file"], facts["made_by"][:19]), (str(path), "hearth tune --quick"))
        values = [word for word in result.stdout.splitlines()[0].split(";") if word]
        self.assertEqual(len(values), facts["values"])

    def test_the_probe_for_collectives_answers_each_question(self):
        """Runs only the short form; the long form takes too long here."""
        probe = BIN.parent / "libexec" / "hearth" / "tune_collective_probe"
        questions = ("compare 4096 4 1000 1 | pipeline_whole | pipeline_shares\n"
                     "compare 8 3 1000 2 | flat | tree\n")
        result = subprocess.run([str(MPIEXEC), "-n", "4", "--oversubscribe", str(probe)], input=questions,
                                env=self.environment({"HEARTH_PROFILE": "none"}), text=True,
                                capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = [line.split() for line in result.stdout.splitlines()]
        self.assertEqual([words[0] for words in lines], ["round", "end", "round", "round", "end"])
        for words in lines:
            if words[0] == "round":
                self.assertEqual(len(words), 5)
                self.assertTrue(all(float(word) > 0 for word in words[1:]), words)

    def test_one_processor_is_too_few(self):
        said = self.tune(code=1, preexec_fn=lambda: tune_on_processors(1)).stderr
        self.assertIn("one processor only", said)

    def test_a_place_that_cannot_be_written(self):
        (self.folder / "file").write_text("")
        said = self.tune("-o", self.folder / "file" / "profile.json", code=1).stderr
        self.assertIn("cannot write", said)


if __name__ == "__main__":
    unittest.main()
