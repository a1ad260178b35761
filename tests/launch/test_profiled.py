"""mpiexec --profile: the report about jobs with known messages and delays (profiled.c)."""

import json
import os
import re
import shutil
import struct
import subprocess
import unittest
import zlib
from html.parser import HTMLParser

from common import BIN, LIMIT_S, LaunchTest

PROGRAM = os.environ["HEARTH_PROFILED_PROGRAM"]
LATE_S = 0.06  # as in profiled.c
LONG = 1 << 20


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def first_pixel(picture):
    """Red, green and blue of a PNG's top left pixel."""
    at, data = 8, b""
    while at < len(picture):
        length, kind = struct.unpack(">I4s", picture[at:at + 8])
        if kind == b"IDAT":
            data += picture[at + 8:at + 8 + length]
        at += length + 12
    return tuple(zlib.decompress(data)[1:4])  # the first byte is the row's filter


class Balance(HTMLParser):
    """Checks that the elements of a page are closed in order."""

    EMPTY = {"meta", "br", "rect", "line"}

    def __init__(self):
        super().__init__()
        self.open = []
        self.wrong = []
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in self.EMPTY or tag == "rect":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


class Profile(LaunchTest):
    def profile(self, ranks, what, *options, program=PROGRAM, code=0):
        file = self.folder / "profile.json"
        result = self.run_mpiexec("-n", ranks, "--oversubscribe", "--profile", file, *options, program, what,
                                  code=code)
        with open(file, encoding="utf-8") as text:
            profile = json.load(text)
        # The verdict is printed as well.
        self.assertIn(profile["verdict"], result.stderr)
        return profile

    def check_counts(self, profile):
        self.assertEqual(profile["messages_between"], [[0, 208, 0], [0, 0, 100], [100, 0, 0]])
        self.assertEqual(profile["bytes_between"], [[0, 1600 + 5000 + 3 * LONG, 0], [0, 0, 800], [800, 0, 0]])

    def test_counts(self):
        profile = self.profile(3, "counts")
        self.check_counts(profile)
        ways = {way["protocol"]: way for way in profile["protocols"]}
        self.assertEqual(ways["inline"]["messages_by_size"], {"8": 400})
        self.assertEqual(ways["eager"]["messages"], 5)
        self.assertEqual(ways["eager"]["bytes"], 5000)
        long = [ways[name] for name in ("bounce buffers", "arena", "single copy")]
        self.assertEqual(sum(way["messages"] for way in long), 3)
        self.assertEqual(sum(way["bytes"] for way in long), 3 * LONG)
        calls = {call["call"]: call for call in profile["calls"]}
        for name in "MPI_Send", "MPI_Recv":
            self.assertEqual(calls[name]["calls"], 408)
            self.assertEqual(calls[name]["bytes"], 3200 + 5000 + 3 * LONG)
            self.assertEqual(calls[name]["calls_by_size"], {"8": 400, "512": 5, str(LONG): 3})
        self.assertEqual(calls["MPI_Comm_rank"]["calls"], 3)
        self.assertEqual([rank["messages_received"] for rank in profile["ranks"]], [100, 208, 100])
        self.assertTrue(all(rank["finalized"] and rank["memory_bytes_max"] > 0 for rank in profile["ranks"]))

    def test_a_folder_for_other_launchers_is_ignored_with_a_note(self):
        folder = self.folder / "parts"
        folder.mkdir()
        for options, env in (((), {"HEARTH_PROFILE_FOLDER": str(folder)}),
                             (("-genv", "HEARTH_PROFILE_FOLDER", folder), {})):
            err = self.run_mpiexec("-n", 2, "--oversubscribe", *options, PROGRAM, "files", env=env).stderr
            note = "mpiexec: note: HEARTH_PROFILE_FOLDER is for jobs of other launchers"
            self.assertEqual(err.count(note), 1, err)
        self.assertEqual(list(folder.iterdir()), [])
        tool = subprocess.run([BIN / "hearth", "profile", folder], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual(tool.returncode, 1)
        self.assertIn("Likely cause: Hearth's mpiexec started the job", tool.stderr)
        self.assertNotIn("HEARTH_PROFILE_FOLDER", self.run_mpiexec("-n", 1, PROGRAM, "files").stderr)

    def test_an_algorithm_that_does_not_exist_is_reported_once(self):
        env = {"HEARTH_COLL_ALGORITHMS": "barrier=foo"}
        err = self.run_mpiexec("-n", 3, "--oversubscribe", PROGRAM, "collectives", env=env).stderr
        text = 'HEARTH_COLL_ALGORITHMS: "barrier=foo" names no algorithm of barrier; there are flat, tree, '
        self.assertEqual(err.count(text), 1, err)
        self.assertEqual(err.count("HEARTH_COLL_ALGORITHMS"), 1, err)

    def test_files(self):
        profile = self.profile(2, "files")
        writer, reader = (rank["files"] for rank in profile["ranks"])
        keys = ("accesses", "bytes_written", "bytes_read")
        self.assertEqual([writer[key] for key in keys], [3, 3 * LONG, 0])
        self.assertEqual([reader[key] for key in keys], [2, 0, 2 * LONG])
        self.assertTrue(0 < writer["seconds"] < profile["run_seconds"])
        calls = {call["call"]: call.get("bytes") for call in profile["calls"]}
        self.assertEqual(calls["MPI_File_write"], 2 * LONG)
        page = self.folder / "profile.html"
        self.run_mpiexec("-n", 2, "--oversubscribe", "--profile", page, PROGRAM, "files")
        self.assertIn("Data accesses of MPI files", page.read_text(encoding="utf-8"))

    def test_what_goes_between_machines(self):
        there = ("--genv", "HEARTH_SIMULATED_NODES", "2")
        profile = self.profile(3, "counts", *there)
        self.check_counts(profile)
        self.assertEqual(profile["machines"], 2)
        self.assertEqual([rank["machine"] for rank in profile["ranks"]], [0, 0, 1])
        sent = [(rank["inter_node"]["messages"], rank["inter_node"]["bytes"]) for rank in profile["ranks"]]
        self.assertEqual(sent, [(0, 0), (100, 800), (100, 800)])
        self.assertEqual([rank["inter_node"]["bytes_share"] for rank in profile["ranks"]], [0, 1, 1])
        share = profile["inter_node"]
        self.assertEqual((share["messages"], share["bytes"]), (200, 1600))
        self.assertAlmostEqual(share["messages_share"], 200 / 408)
        self.assertAlmostEqual(share["even_share"], 4 / 6)
        channels = {channel["relation"]: channel["messages"] for channel in profile["channels"]}
        self.assertEqual(channels["network"], 200)
        said = self.run_mpiexec("-n", 3, "--oversubscribe", "--profile", self.folder / "p.html", *there,
                                PROGRAM, "counts").stderr
        self.assertIn("49 % of the messages and 0.1 % of the bytes go between the 2 machines; it would be "
                      "67 %", said)
        page = (self.folder / "p.html").read_text(encoding="utf-8")
        self.assertIn("Within and between machines", page)
        self.assertEqual(self.profile(3, "counts")["machines"], 1)

    def test_late_sender(self):
        profile = self.profile(2, "late_sender")
        waits = profile["ranks"][1]["waits"]
        self.assertGreater(waits["late sender"]["seconds"], LATE_S / 2)
        self.assertLess(waits["late receiver"]["seconds"], LATE_S / 10)
        self.assertGreater(profile["waited_seconds_for"][1][0], LATE_S / 2)
        self.assertLess(profile["waited_seconds_for"][0][1], LATE_S / 10)
        self.assertRegex(profile["verdict"], r"^Rank 1 waits \d+ % of its time for rank 0, which computes")
        site = profile["longest_waits"][0]
        self.assertEqual((site["rank"], site["peer"], site["wait"]), (1, 0, "late sender"))
        # A static function of the program, then main.
        self.assertRegex(site["frames"][0], r"^late_sender.* \(launch_profiled\)$|^main \(launch_profiled\)$")

    def test_late_receiver(self):
        profile = self.profile(2, "late_receiver")
        waits = profile["ranks"][0]["waits"]
        self.assertGreater(waits["late receiver"]["seconds"], LATE_S / 2)
        self.assertLess(waits["late sender"]["seconds"], LATE_S / 10)
        self.assertIn("Rank 0 waits", profile["verdict"])

    def test_collectives(self):
        profile = self.profile(4, "collectives")
        comms = {}
        for comm in profile["communicators"]:
            comms.setdefault(comm["name"], []).append(comm)
        world = comms["MPI_COMM_WORLD"][0]
        self.assertEqual(world["size"], 4)
        self.assertGreaterEqual(world["collectives"], 10)
        self.assertEqual(world["timed_collectives"], world["collectives"])
        self.assertEqual(world["last_rank"], 3)
        self.assertGreater(world["last_share"], 0.5)
        self.assertGreater(world["arrival_spread_max_seconds"], LATE_S / 20)
        # Both communicators of the split, separately.
        self.assertEqual([(half["size"], half["collectives"]) for half in comms["half"]], [(2, 7), (2, 7)])
        calls = {call["call"]: call["calls"] for call in profile["calls"]}
        self.assertEqual((calls["MPI_Barrier"], calls["MPI_Allreduce"]), (40, 28))

    def test_unexpected(self):
        receiver = self.profile(2, "unexpected")["ranks"][1]
        self.assertGreaterEqual(receiver["unexpected_messages"], 19)
        self.assertGreaterEqual(receiver["unexpected_depth_max"], 19)
        self.assertGreaterEqual(receiver["unexpected_bytes_max"], 1900)

    def test_many_short_messages(self):
        """Most of them are not counted one by one: their number is still exact, their lengths are
        approximate."""
        profile = self.profile(2, "many")
        self.assertEqual(profile["messages_between"][0][1], 400000)
        sizes = {way["protocol"]: way for way in profile["protocols"]}["inline"]["messages_by_size"]
        self.assertEqual(set(sizes), {"8", "32"})
        self.assertAlmostEqual(sizes["8"] / 400000, 0.5, delta=0.15)
        calls = {call["call"]: call for call in profile["calls"]}
        self.assertEqual(calls["MPI_Send"]["calls"], 400000)
        self.assertEqual(calls["MPI_Recv"]["calls"], 400000)
        self.assertTrue(calls["MPI_Send"]["estimated"])

    def test_posted_receives(self):
        """Receives posted on the fast path, and the calls that wait for them, are counted exactly."""
        profile = self.profile(2, "posted")
        messages = 4000 * 64
        self.assertEqual(profile["messages_between"][0][1], messages)
        calls = {call["call"]: call for call in profile["calls"]}
        for name in ("MPI_Isend", "MPI_Irecv"):
            self.assertEqual(calls[name]["calls"], messages, name)
            sizes = calls[name]["calls_by_size"]
            self.assertEqual(set(sizes), {"8", "128"}, name)
            self.assertAlmostEqual(sizes["128"] / messages, 1 / 8, delta=0.12, msg=name)
        self.assertEqual(calls["MPI_Wait"]["calls"], 2 * messages // 2)
        self.assertEqual(calls["MPI_Waitall"]["calls"], 2 * 4000 // 2)
        self.assertNotIn("MPI_Recv", calls)
        ways = {way["protocol"]: way for way in profile["protocols"]}
        self.assertEqual(ways["eager"]["messages_by_size"], {"128": messages // 8})

    def test_killed_rank_leaves_what_it_counted(self):
        profile = self.profile(3, "killed", code=137)
        self.check_counts(profile)
        self.assertFalse(profile["ranks"][1]["finalized"])
        self.assertEqual(profile["exit_code"], 137)

    def test_program_without_mpi(self):
        profile = self.profile(2, "1", program="true")
        self.assertEqual(profile["messages"], 0)
        self.assertEqual(profile["verdict"], "No rank called MPI_Init, so nothing was counted.")

    def test_page(self):
        file = self.folder / "profile.html"
        self.run_mpiexec("-n", 3, "--oversubscribe", "--profile", file, PROGRAM, "counts", "<b>&\"'")
        page = file.read_text(encoding="utf-8")
        balance = Balance()
        balance.feed(page)
        self.assertEqual((balance.open, balance.wrong), ([], []))
        self.assertTrue({"svg", "table", "h2"} <= balance.seen)
        # Nothing is fetched or executed, and text of users is not interpreted.
        self.assertNotIn("script", balance.seen)
        self.assertNotIn("b", balance.seen)
        self.assertIsNone(re.search(r"(src|href|url)\s*[=(]", page))
        self.assertIn("prefers-color-scheme: dark", page)
        for svg in re.findall(r"<svg [^>]*>", page):
            self.assertIn('role="img" aria-label="', svg)

    @unittest.skipUnless(BROWSER, "there is no Chromium")
    def test_page_in_a_browser(self):
        """Rendered in light and dark mode."""
        file = self.folder / "profile.html"
        self.run_mpiexec("-n", 3, "--oversubscribe", "--profile", file, PROGRAM, "counts")
        for scheme, ground in ("1", (255, 255, 255)), ("0", (15, 23, 42)):
            picture = self.folder / "page.png"
            picture.unlink(missing_ok=True)
            result = subprocess.run(
                [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu",
                 f"--user-data-dir={self.folder / 'browser'}",
                 f"--blink-settings=preferredColorScheme={scheme}", "--window-size=1160,1600",
                 f"--screenshot={picture}", file.as_uri()],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False)
            self.assertTrue(picture.exists(), result.stderr)
            self.assertEqual(first_pixel(picture.read_bytes()), ground)
            self.assertGreater(picture.stat().st_size, 20000)  # it is not empty

    def test_file_that_cannot_be_written(self):
        result = self.run_mpiexec("--profile", "/nowhere/profile.html", "echo", "started", code=1)
        self.assertIn("cannot write '/nowhere/profile.html'", result.stderr)
        self.assertNotIn("started", result.stdout)

    def test_a_forgotten_file_name_does_not_cost_the_program(self):
        script = self.folder / "script"
        script.write_text("#!/bin/sh\necho started\n")
        script.chmod(0o755)
        for option in "--profile", "--trace", "--check-json":
            result = self.run_mpiexec(option, script, code=2)
            self.assertIn(f"{option} needs the name of a file to write", result.stderr)
            self.assertIn("a program, which would be overwritten", result.stderr)
            result = self.run_mpiexec(option, "-n", 2, script, code=2)
            self.assertIn("but '-n' is an option", result.stderr)
        self.assertIn("echo started", script.read_text())


if __name__ == "__main__":
    unittest.main()
