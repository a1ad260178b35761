"""The page that bench/performance writes, from made-up comparisons."""

import importlib.machinery
import importlib.util
import sys
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.insert(0, str(BENCH))

from comparing import cases, families  # noqa: E402


def load():
    loader = importlib.machinery.SourceFileLoader("performance", str(BENCH / "performance"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("performance", loader))
    loader.exec_module(module)
    return module


def comparison(rows):
    return {
        "rows": rows, "pairs": {"mpich": {"kept": 8, "rejected": 2}},
        "about": {"date": "2026-11-28 07:00", "processor": "a processor", "processors": 2, "kernel": "6.18",
                  "commit": "abc1234", "options": {"ranks": 2},
                  "libraries": {"hearth": "Hearth 0.1.0", "mpich": "MPICH 5.0.2"}}}


def row(state, ns):
    entry = {"ratio": 0.5, "low": 0.4, "high": 0.6, "pairs": 8, "ns": 2 * ns, "verdict": "faster"}
    return {"case": "latency", "bytes": 8, "state": state, "ns": ns, "best": "mpich", "resolution": 0.01,
            "peers": {"mpich": entry}}


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.performance = load()

    def test_only_the_measured_part_is_replaced(self):
        page = self.performance
        text = f"before\n\n{page.BEGIN}\n\nold\n\n{page.END}\n\nafter\n"
        self.assertEqual(page.replace(text, "new\n"), text.replace("old", "new"))
        with self.assertRaises(SystemExit):
            page.replace("no marks", "new")

    def test_the_pages_have_the_marks(self):
        for page in (self.performance.PAGE, self.performance.README):
            self.performance.replace(page.read_text(encoding="utf-8"), "")

    def test_the_readme_has_some_rows(self):
        text = self.performance.highlights({"messages": comparison([row("far", 300), row("near", 70)])})
        self.assertIn("| half round trip, 8 B | 70 ns | - | 140 ns | - |", text)
        self.assertNotIn("300 ns", text)

    def test_a_table_for_each_state(self):
        page = Path("docs/performance.md")
        text = self.performance.generated({"messages": comparison([row("near", 70), row("far", 300)])},
                                          {"messages": Path("docs/performance/messages.svg")}, page)
        self.assertIn("a processor, 2 processors, Linux 6.18. Hearth 0.1.0; MPICH 5.0.2.", text)
        self.assertIn("](performance/messages.svg)", text)
        self.assertIn("Machine: cores that share a cache.", text)
        row_text = "| half round trip, 8 B | 70 ns | 140 ns | 0.50 | 0.50 (0.40 to 0.60) faster | +-1.0 % |"
        self.assertIn(row_text, text)
        self.assertIn("commit abc1234; 2 of 10 pairs are left out", text)

    def test_a_family_without_rows_says_so(self):
        text = self.performance.generated({"messages": comparison([])}, {}, Path("docs/performance.md"))
        self.assertIn("No row was measured often enough", text)

    def test_plotted_cases_have_titles(self):
        for family in families.FAMILIES:
            for case in family.plotted:
                self.assertIn(case, {**cases.TITLES, **dict.fromkeys(cases.COLLECTIVES)})


if __name__ == "__main__":
    unittest.main()
