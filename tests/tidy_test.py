#!/usr/bin/env python3
"""Breaks each rule of tests/tidy.py in a small tree and checks that it is reported."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tidy  # noqa: E402

CLEAN = {
    "README.md": "see docs/page.md and tool.py\n",
    "docs/page.md": "words\n",
    "src/CMakeLists.txt": "add_library(x base/os_x.cpp base/word.cpp p2p/send.cpp)\n",
    "src/base/os_x.cpp": '#include "base/word.h"\n#include <sys/mman.h>\nvoid* f() { return mmap(); }\n',
    "src/base/word.h": "// What it owns.\n#pragma once\n",
    "src/base/word.cpp": '#include "base/word.h"\n',
    "src/base/atomic.h": "// Orders.\n#pragma once\n#include <atomic>\nauto x = std::memory_order_relaxed;\n",
    "src/p2p/send.cpp": '#include "base/atomic.h"\n#include "base/word.h"\n#include "mpi.h"\n',
    "tool.py": '"""What it is for."""\n',
}


class Tidy(unittest.TestCase):
    def told(self, changes):
        """Tidy's reports on the clean tree with these changes; None removes a file."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**CLEAN, **changes}.items():
                if text is not None:
                    path = Path(root, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
            return [f"{path}:{line}: {text}" for path, line, text in tidy.complaints(root)]

    def expect(self, words, changes):
        """Exactly one report, which contains these words."""
        told = self.told(changes)
        self.assertEqual(len(told), 1, told)
        self.assertIn(words, told[0])

    def test_clean_tree(self):
        self.assertEqual(self.told({}), [])

    def test_layers_have_no_cycle(self):
        def below(layer, seen):
            self.assertNotIn(layer, seen)
            for other in tidy.LAYERS[layer]:
                below(other, seen | {layer})

        for layer in tidy.LAYERS:
            below(layer, frozenset())

    def test_plain_language(self):
        guide = {"README.md": "see docs/page.md, docs/guide/a.md and tool.py\n"}
        for words in ("Waiting. Nobody waits.", "The lock is lent.", "x" * 121):
            self.assertEqual(len(self.told({**guide, "docs/guide/a.md": words + "\n"})), 1, words)
        self.assertEqual(self.told({**guide, "docs/guide/a.md": "Who waits?\n| " + "x" * 121 + " |\n"}), [])
        self.expect(
            "'Whoever' as a subject",
            {"src/topo/x.cpp": "int x;  // Whoever comes first.\n",
             "src/CMakeLists.txt": CLEAN["src/CMakeLists.txt"] + "topo/x.cpp\n"})

    def test_names_of_tests(self):
        def told(line):
            return self.told({"tests/unit/x.cpp": line + "\n",
                              "tests/unit/CMakeLists.txt": "hearth_unit_test(x x.cpp)\n"})

        for name in "WhoWaits", "NobodyWaits", "TellsWho", "a_lock_nobody_holds":
            self.assertEqual(len(told(f"TEST_F(Waiting, {name}) {{")), 1, name)
        for name in "WholeMessages", "AreWrittenWhole", "FromAFolderWhoseName", "a_whole_message":
            self.assertEqual(told(f"TEST(Waiting, {name}) {{"), [], name)

    def test_include_upward(self):
        self.expect(
            "base must not include p2p",
            {"src/base/word.cpp": '#include "base/word.h"\n#include "p2p/send.h"\n',
             "src/p2p/send.h": "// Sends.\n#pragma once\n"})

    def test_include_of_a_missing_header(self):
        self.expect("no such header", {"src/base/word.cpp": '#include "word.h"\n#include "base/word.h"\n'})

    def test_headers_of_tools_are_named_from_their_folder_or_from_tools(self):
        tools = {"tools/CMakeLists.txt": "add_library(y pretty.cpp paper/page.cpp)\n",
                 "tools/pretty.h": "// Owns words.\n#pragma once\n",
                 "tools/pretty.cpp": '#include "pretty.h"\n'}
        self.assertEqual(self.told({**tools, "tools/paper/page.cpp": '#include "pretty.h"\n'}), [])
        self.expect("no such header", {**tools, "tools/paper/page.cpp":
                                       '#include "pretty.h"\n#include "page.h"\n'})

    def test_include_of_calls_below_abi(self):
        self.expect("must not include hearth_calls.h", {"src/p2p/send.cpp": CLEAN["src/p2p/send.cpp"] +
                                                        '#include "hearth_calls.h"\n'})

    def test_bootstrap_is_apart_from_launch(self):
        abi = {"src/CMakeLists.txt": CLEAN["src/CMakeLists.txt"] + "abi/init.cpp\n"}
        header = "// Starts.\n#pragma once\n"
        self.assertEqual(self.told({**abi, "src/abi/init.cpp": '#include "launch/bootstrap.h"\n',
                                    "src/launch/bootstrap.h": header}), [])
        self.expect("abi must not include launch", {**abi, "src/abi/init.cpp": '#include "launch/run.h"\n',
                                                    "src/launch/run.h": header})

    def test_unknown_layer(self):
        self.expect("is no layer", {"src/CMakeLists.txt": CLEAN["src/CMakeLists.txt"] + "magic/a.cpp\n",
                                    "src/magic/a.cpp": "int a;\n"})

    def test_memory_order(self):
        for line in ("std::atomic<int> a;", "x.load(std::memory_order_acquire);", "__atomic_load_n(&a, 0);",
                     "#include <atomic>"):
            self.expect("memory orders", {"src/p2p/send.cpp": CLEAN["src/p2p/send.cpp"] + line + "\n"})

    def test_system_call(self):
        for line in ("#include <unistd.h>", "#include <sys/mman.h>", "int a = getpid();", "::close(3);",
                     "x = ::mmap(0);"):
            self.expect("only src/base/os", {"src/p2p/send.cpp": CLEAN["src/p2p/send.cpp"] + line + "\n"})

    def test_streams(self):
        stream = "#include <sstream>\n"
        self.expect("larger", {"src/p2p/send.cpp": CLEAN["src/p2p/send.cpp"] + stream})
        for path, count in (("src/launch/bootstrap.cpp", 1), ("src/launch/hosts.cpp", 0)):
            told = [text for text in self.told({path: stream}) if "larger" in text]
            self.assertEqual(len(told), count, path)

    def test_own_names_are_no_system_calls(self):
        names = ("f.close();", "os::getpid();", "Status send(int x);", "// calls mmap()", "engine->fork();")
        for line in names:
            self.assertEqual(self.told({"src/p2p/send.cpp": CLEAN["src/p2p/send.cpp"] + line + "\n"}), [])

    def test_platform(self):
        self.expect("#if by platform", {"src/p2p/send.cpp": CLEAN["src/p2p/send.cpp"] +
                                        "#if defined(__x86_64__)\n#endif\n"})

    def test_sizes(self):
        self.expect("columns", {"src/p2p/send.cpp": CLEAN["src/p2p/send.cpp"] + "//" + "x" * 120 + "\n"})
        self.expect("lines, at most", {"src/p2p/send.cpp": CLEAN["src/p2p/send.cpp"] + "int a;\n" * 800})
        self.expect("blanks", {"src/p2p/send.cpp": CLEAN["src/p2p/send.cpp"] + "int a; \n"})

    def test_words(self):
        self.expect("unfinished", {"docs/page.md": "TO" + "DO: more\n"})
        self.expect("one machine", {"docs/page.md": "see /" + "home/someone/x\n"})
        self.assertEqual(self.told({"docs/page.md": "an address ${x}/home/y, a/work/b and /homeward\n"}), [])

    def test_header_shape(self):
        self.expect("opens with a comment", {"src/base/word.h": "#pragma once\n"})
        self.expect("#pragma once", {"src/base/word.h": "// What it owns.\n"})
        self.expect("script opens", {"tool.py": "import os\n"})

    def test_large_classes(self):
        def told(body):
            return self.told({"src/coll/a.h": "// A.\n#pragma once\n" + body,
                              "src/p2p/send.cpp": CLEAN["src/p2p/send.cpp"] + '#include "coll/a.h"\n'})[1:]

        methods = "".join(f"  void f{i}() {{ g({{1}}); }}\n  int g{i}() const;\n" for i in range(20))
        members = "".join(f"  int a{i}_ = 0;\n" for i in range(24))
        members += "  struct {\n    int x, y;\n    int z;\n  } b_;\n"
        rest = "  using T = int;\n  static constexpr int kA = f();\n  friend class D;\n"
        rest += "  struct S {\n    int a;\n  };\n\n private:\n  void h();\n"
        self.assertEqual(told("class C {\n public:\n" + methods + members + rest + "};\n"), [])
        large = "class C {\n public:\n  void f();\n" + methods + members + rest + "  T c_;\n};\n"
        self.assertEqual([line.split(": ", 1)[1] for line in told(large)],
                         ["C: 41 public methods, at most 40", "C: 26 members, at most 25"])
        for folder, limits in (("p2p", 2), ("transport", 2), ("base", 0)):
            lines = self.told({f"src/{folder}/a.h": "// A.\n#pragma once\n" + large,
                               "src/p2p/send.cpp": CLEAN["src/p2p/send.cpp"] + f'#include "{folder}/a.h"\n'})
            self.assertEqual(sum("at most" in line for line in lines), limits, folder)

    def test_dead_files(self):
        self.expect("no CMakeLists.txt names", {"src/p2p/other.cpp": "int a;\n"})
        self.expect("nobody includes", {"src/p2p/other.h": "// A thing.\n#pragma once\n"})
        self.expect("no other file names", {"scripts/lost.sh": "# Lost.\n"})
        self.expect("no other file names", {"docs/lost.md": "words\n"})

    def test_header_of_its_own_source_only(self):
        self.expect("nobody includes", {"src/CMakeLists.txt": CLEAN["src/CMakeLists.txt"] + "p2p/other.cpp\n",
                                        "src/p2p/other.h": "// A thing.\n#pragma once\n",
                                        "src/p2p/other.cpp": '#include "p2p/other.h"\n'})


if __name__ == "__main__":
    unittest.main()
