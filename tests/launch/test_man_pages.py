#!/usr/bin/env python3
"""The man pages: every option of --help, the mandatory sections, exit codes as documented, and no complaint
of groff or mandoc, if installed."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from common import BIN, LIMIT_S

BUILD = BIN.parent
FOLDER = BUILD / "share/man/man1"
LAUNCHING = Path(__file__).parents[2] / "docs/guide/launching.md"
PAGES = ("mpiexec", "mpicc", "hearth")
SECTIONS = ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w:-]*")
ESCAPES = {
    r"\-": "-", r"\e": "\\", r"\&": "", r"\(aq": "'", r"\(dq": '"', r"\(ga": "`", r"\(ha": "^", r"\(ti": "~",
}


def page_of(name):
    return (FOLDER / f"{name}.1").read_text(encoding="ascii")


def output_of(*words):
    result = subprocess.run(
        [str(BIN / words[0]), *words[1:]], capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    return result.stdout


def plain(troff):
    """Text without escapes, in one line."""
    troff = re.sub(r"\\f[BIR]", "", troff)
    return " ".join(re.sub(r"\\(?:\(..|.)", lambda match: ESCAPES[match.group(0)], troff).split())


def help_rows(text):
    """(options, text) of each row of --help. The text of a row with long names is on the next line."""
    rows = []
    for line in text.splitlines():
        if re.match(r"  ?-", line):
            names, _, words = line.strip().partition("  ")
            rows.append([OPTION.findall(names), words.strip()])
        elif rows and re.match(r" {20}", line):
            rows[-1][1] = f"{rows[-1][1]} {line.strip()}".strip()
    return rows


def options_of(text):
    return {option for options, _ in help_rows(text) for option in options}


def bold_words(page):
    return {plain(words) for words in re.findall(r"\\fB(.*?)\\fR", page)} | {
        plain(words) for words in re.findall(r"^\.B (.*)$", page, re.MULTILINE)
    }


def missing_options(page, help_text):
    bold = {word.partition("=")[0] for word in bold_words(page)}
    return options_of(help_text) - bold


def missing_texts(page, help_text):
    page = plain(page)
    return [words for _, words in help_rows(help_text) if " ".join(words.split()) not in page]


def missing_sections(page):
    headings = re.findall(r'^\.SH "?(.*?)"?$', page, re.MULTILINE)
    return [section for section in SECTIONS if section not in headings]


def exit_codes(page):
    section = page.partition('.SH "EXIT STATUS"\n')[2].partition(".SH")[0]
    return [plain(term) for term in re.findall(r"^\.TP\n(.*)$", section, re.MULTILINE)]


def documented_exit_codes():
    table = LAUNCHING.read_text(encoding="utf-8").partition("## Exit codes\n")[2]
    return [row for row in re.findall(r"^\| (.*?) \|", table, re.MULTILINE) if row[0].isdigit()]


def linters():
    """Name and command of each installed program that checks pages."""
    commands = {
        "groff": ["groff", "-man", "-ww", "-z", "-Tascii", "-rLL=200n"],
        "mandoc": ["mandoc", "-T", "lint", "-W", "error"],
    }
    return {name: command for name, command in commands.items() if shutil.which(name)}


def complaints(command, page):
    with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
        file.write(page)
        file.flush()
        result = subprocess.run(
            [*command, file.name], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    return result.stdout + result.stderr


class ManPages(unittest.TestCase):
    def help_texts(self):
        """Each page with the help that it has to agree with."""
        yield "mpiexec", output_of("mpiexec", "--help")
        yield "mpicc", output_of("mpicc", "-showme:help")
        hearth = output_of("hearth", "--help")
        yield "hearth", hearth
        commands = re.findall(r"^  ([a-z]\w*) ", hearth.partition("Subcommands:\n")[2], re.MULTILINE)
        self.assertIn("info", commands)
        for command in (*commands, "bench paper"):
            yield "hearth", output_of("hearth", *command.split(), "--help")

    def test_every_option(self):
        for name, text in self.help_texts():
            with self.subTest(name, text=text.splitlines()[0]):
                self.assertTrue(options_of(text))
                self.assertEqual(missing_options(page_of(name), text), set())

    def test_every_text(self):
        for name, command in (("mpiexec", "--help"), ("mpicc", "-showme:help")):
            text = output_of(name, command).partition("\n\nAccepted without")[0]
            self.assertGreater(len(help_rows(text)), 10)
            self.assertEqual(missing_texts(page_of(name), text), [], name)

    def test_hidden_options(self):
        for name in ("mpiexec", "hearth"):
            self.assertNotIn("man-page", output_of(name, "--help"))
            self.assertNotIn("man-page", plain(page_of(name)))
            self.assertEqual(output_of(name, "--man-page"), page_of(name))

    def test_every_form_of_showme_is_documented(self):
        script = (BIN / "mpicc").read_text(encoding="utf-8")
        cases = set(re.findall(r"(?<!-)-showme:\w+", script.partition("show=\n")[2]))
        self.assertIn("-showme:link", cases)
        self.assertLessEqual(cases, options_of(output_of("mpicc", "-showme:help")))

    def test_sections(self):
        for name in PAGES:
            self.assertEqual(missing_sections(page_of(name)), [], name)

    def test_exit_codes_are_those_of_the_guide(self):
        self.assertGreater(len(documented_exit_codes()), 5)
        self.assertEqual(exit_codes(page_of("mpiexec")), documented_exit_codes())

    def test_every_command_has_a_page(self):
        wrappers = [path.name for path in (BUILD / "installed").iterdir()]
        self.assertIn("mpicxx", wrappers)
        for name in (*wrappers, "mpiexec", "mpirun", "hearth"):
            page = page_of(name)
            link = re.fullmatch(r"\.so man1/(\w+)\.1\n", page)
            self.assertIn(link.group(1) if link else name, PAGES)

    def test_linters(self):
        if not linters():
            self.skipTest("neither groff nor mandoc is installed")
        for tool, command in linters().items():
            for name in PAGES:
                self.assertEqual(complaints(command, page_of(name)), "", f"{tool} about {name}.1")

    def test_rendered_text(self):
        """What the reader sees: escapes are right if the options and their texts appear as in --help."""
        if "groff" not in linters():
            self.skipTest("groff is not installed")
        command = ["groff", "-man", "-Tascii", "-P-c", "-P-bou", "-rLL=1000n"]
        rendered = " ".join(complaints(command, page_of("mpiexec")).split())
        text = output_of("mpiexec", "--help").partition("\n\nAccepted without")[0]
        for options, words in help_rows(text):
            self.assertIn(", ".join(options), rendered)
            self.assertIn(" ".join(words.split()), rendered)
        self.assertIn("Ctrl-\\ prints", rendered)

    def test_each_check_can_fail(self):
        page, text = page_of("mpiexec"), output_of("mpiexec", "--help")
        without = page.replace(r"\fB\-\-timeout\fR", "")
        self.assertEqual(missing_options(without, text), {"--timeout"})
        rows = text.partition("\n\nAccepted without")[0]
        self.assertEqual(len(missing_texts(page.replace("print the version", "print"), rows)), 1)
        self.assertEqual(missing_sections(page.replace('"SYNOPSIS"', '"USE"')), ["SYNOPSIS"])
        self.assertNotEqual(exit_codes(page.replace(r"\fB124\fR", r"\fB125\fR")), documented_exit_codes())
        for tool, command in linters().items():
            self.assertIn("no_such_macro", complaints(command, page + ".no_such_macro\n"), tool)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
