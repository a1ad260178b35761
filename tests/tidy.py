#!/usr/bin/env python3
"""Rules of the source tree as a test: python3 tests/tidy.py [--format] [root of the source tree].

Prints one line per violation, `file:line: what is wrong, and why the rule exists`, and exits with 1. With
--format it checks the layout of C and C++ files with clang-format instead; exit code 77 (skipped) means
that the version whose layout the tree follows is not installed.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# The layers that each layer may include besides itself: the picture in docs/design/architecture.md. Layers
# are the folders of src, `tools`, and `bootstrap`: the rank's half of src/launch, which is linked into the
# library.
BASE = {"base"}
NODE = BASE | {"shm", "topo"}
MOVERS = NODE | {"single_copy", "profile", "tune"}
P2P = MOVERS | {"transport", "objects", "datatype"}
SERVICES = P2P | {"p2p"}
ABI = SERVICES | {"coll", "rma", "io", "bootstrap", "heap"}
LAYERS = {
    "base": set(),
    "shm": BASE,
    "topo": BASE | {"shm"},
    "profile": NODE,
    "single_copy": NODE | {"profile"},
    "tune": NODE | {"profile", "single_copy"},
    "transport": MOVERS,
    "objects": BASE,
    "datatype": BASE | {"objects"},
    "p2p": P2P,
    "coll": SERVICES,
    "rma": SERVICES | {"coll"},  # a fence is a barrier
    "io": SERVICES | {"coll", "rma"},  # a shared file pointer between machines is a window
    "bootstrap": NODE,
    "heap": BASE,
    "abi": ABI,
    "facade": {"abi", "objects"},
    "fortran": set(),
    "check": NODE | {"launch"},
    "launch": ABI | {"abi"},
    "tools": ABI | {"abi", "launch"},
}
# Headers that the generator writes into the build folder, and the layers that may include each.
GENERATED = {
    "mpi.h": set(LAYERS),
    "mpi-ext.h": set(LAYERS),
    "hearth_calls.h": {"abi", "check", "launch", "tools"},
    "hearth_types.inc": {"datatype"},
    "hearth_error_classes.inc": {"abi"},
    "facade_core.h": {"abi", "facade", "fortran"},
    "facade_by_hand.h": {"facade"},
    "facade_mpich.inc": {"facade"},
    "facade_openmpi.inc": {"facade", "fortran"},
}

# Folders whose classes have limits. A method is public; a member is a variable of an object.
CLASS_FOLDERS = ("src/coll/", "src/p2p/", "src/transport/")
PUBLIC_METHODS_MAX = 40
MEMBERS_MAX = 25

LINES_MAX = 800
LINES_NOTED = 500
COLUMNS_MAX = 110
CLANG_FORMAT_MAJOR = 14  # Debian 12 and Ubuntu 22.04 ship it; other versions lay code out differently

CODE = {".h", ".cpp", ".c", ".def", ".py", ".sh", ".cmake"}
CXX = {".h", ".cpp", ".c"}
SCRIPTS = {".py", ".sh"}
SKIPPED_FOLDERS = {".git", ".venv", ".cache", "build", "shared", "__pycache__"}

MEMORY_ORDER = re.compile(r"\bmemory_order|\bstd::atomic|__atomic_\w+|__sync_\w+|#\s*include\s*<atomic>")
SYSTEM_HEADER = re.compile(
    r"#\s*include\s*<(unistd|fcntl|poll|sched|signal|spawn|dlfcn|netdb|dirent|pwd|grp|termios|"
    r"(sys|linux|asm|arpa|netinet|net)/[\w/]+)(\.h)?>")
# Names that are system calls wherever they appear, and names that are system calls only after a bare `::`.
SYSTEM_CALL = re.compile(
    r"(?<![\w.>:])(?:::)?(mmap|munmap|mremap|madvise|mprotect|memfd_create|ftruncate|posix_fallocate|"
    r"process_vm_readv|process_vm_writev|fork|vfork|execvp?e?|posix_spawnp?|waitpid|waitid|syscall|"
    r"getpid|getppid|sched_yield|sched_getaffinity|sched_setaffinity|clock_gettime|nanosleep|usleep|"
    r"sysconf|prctl|sigaction|epoll_\w+|pipe2|socketpair|dlopen)\s*\("
    r"|(?<![\w.>])::(open|close|read|write|poll|pipe|kill|dup2?|stat|fstat|unlink|socket|connect|bind|"
    r"accept|send|recv|ioctl|fcntl|signal|sleep|_exit)\s*\(")
# They bring the code of all locales into a library that is linked statically.
STREAM_HEADER = re.compile(r"#\s*include\s*<(iostream|fstream|sstream|iomanip|filesystem|regex|locale)>")
# What belongs to programs, not to a library that ranks load.
PROGRAMS = ("tools/", "tests/", "src/launch/", "src/profile/report/")
PLATFORM = re.compile(r"#\s*(if|ifdef|elif)\b.*__(x86_64|aarch64|linux|gnu_linux)__")
# Split, so that this file does not break its own rules.
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" "DO", "FIX" "ME", "HA" "CK"]) + r")\b")
OWN_MACHINE = re.compile(r"(?<![\w.${}~/-])/(home|root|work|Users)/[\w.-]")
# Folders and files whose comments and prose follow docs/glossary.md. The list grows until it is the whole
# tree; then it goes.
PLAIN = ("README.md", "CONTRIBUTING.md", "docs/", "src/", "tools/", "bench/", "api/", "tests/")
PRONOUN_SUBJECT = re.compile(
    r"(?:^|[.:;] +)(Who|Whoever|Nobody|Somebody|Everybody|whoever|nobody|somebody|everybody)\b")
# Names of tests are sentences too: Suite.WhoWaits, suite.nobody_waits, test_who_waits.
TEST_NAME = re.compile(r"^\s*(?:TEST(?:_F|_P)?\(\w+,\s*(\w+)|def (test_\w+))")
WORD_OF_NAME = re.compile(r"[A-Z]?[a-z]+")
PRONOUNS = {"who", "whoever", "nobody", "somebody", "everybody", "everyone"}
OLD_TERMS = re.compile(
    r"\b(bring_over|mourn\w*|bur(?:y|ied)|knocks?|doz(?:e|es|ing)|breathes?|lends?|lent|encounters?|"
    r"travelling cells|kept cells|wide parts?|control areas?|footprints?|allotments?|under way|visitors?)\b",
    re.IGNORECASE)
DOC_COLUMNS_MAX = 120
CODE_SPAN = re.compile(r"`[^`]*`")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


class Tree:
    """The files of a source tree, read once."""

    def __init__(self, root):
        self.root = Path(root)
        self.text = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith("build-"))
            for name in sorted(set(names) - {".git"}):  # of a worktree
                path = Path(folder, name)
                try:
                    self.text[path.relative_to(self.root).as_posix()] = path.read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    pass  # a picture or another binary file: no rule is about it

    def paths(self, suffixes):
        return [p for p in self.text if Path(p).suffix in suffixes]


def layer_of(path):
    """The layer of a file under src or tools; None for any other file."""
    parts = path.split("/")
    if parts[0] == "tools":
        return "tools"
    if parts[0] != "src" or len(parts) < 3:
        return None
    if parts[1] == "launch" and parts[2].startswith("bootstrap"):
        return "bootstrap"
    return parts[1]


def is_os(path):
    return path.startswith("src/base/os")


def numbered(text):
    return enumerate(text.splitlines(), 1)


def code_only(line):
    """The line without its // comment, so that comments may contain names that code may not."""
    return line.split("//", 1)[0] if "//" in line and "://" not in line else line


def check_includes(tree):
    for path in tree.paths(CXX | {".def"}):
        layer = layer_of(path)
        if layer is None:
            continue
        if layer not in LAYERS:
            yield path, 1, f"src/{layer} is no layer: say in LAYERS (tests/tidy.py) what it includes"
            continue
        for number, line in numbered(tree.text[path]):
            match = INCLUDE.match(line)
            if match is None:
                continue
            target = match.group(1)
            if target in GENERATED:
                if layer not in GENERATED[target]:
                    yield path, number, f"{layer} must not include {target}: it belongs to the layers above"
                continue
            # Headers of the tools are included relative to their own folder or to tools/.
            beside = (Path(path).parent / target).as_posix()
            if layer == "tools" and (beside in tree.text or f"tools/{target}" in tree.text):
                continue
            if f"src/{target}" not in tree.text:
                yield path, number, f"no such header: src/{target} (they are named as \"layer/name.h\")"
                continue
            below = layer_of(f"src/{target}")
            if below != layer and below not in LAYERS[layer]:
                yield path, number, f"{layer} must not include {below}: includes point only downward"


def check_machine(tree):
    """Memory orders, system calls and platform conditions are allowed in one place each."""
    for path in tree.paths(CXX):
        top = path.split("/")[0]
        ours = top in ("src", "tools") or (top == "tests" and not path.endswith(".c"))
        if not ours:
            continue
        for number, line in numbered(tree.text[path]):
            line = code_only(line)
            if path != "src/base/atomic.h" and MEMORY_ORDER.search(line):
                yield path, number, "memory orders belong in src/base/atomic.h, where they are argued"
            if top == "tests" or is_os(path):
                continue
            match = SYSTEM_HEADER.search(line) or SYSTEM_CALL.search(line)
            if match:
                yield path, number, f"'{match.group(0).strip()}': only src/base/os* speaks to the system"
            match = STREAM_HEADER.search(line)
            if match and (not path.startswith(PROGRAMS) or layer_of(path) == "bootstrap"):
                yield path, number, f"{match.group(0)} makes a library that ranks load larger: base/split.h"
            if not path.startswith("src/base/") and PLATFORM.search(line):
                yield path, number, "#if by platform belongs under src/base"


def check_sizes(tree):
    for path in tree.paths(CODE):
        lines = tree.text[path].splitlines()
        if len(lines) > LINES_MAX:
            yield path, len(lines), f"{len(lines)} lines, at most {LINES_MAX}: split it by purpose"
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS_MAX and not path.endswith(".def"):
                yield path, number, f"{len(line)} columns, at most {COLUMNS_MAX}"
            if line != line.rstrip():
                yield path, number, "blanks at the end of the line"


def check_words(tree):
    for path, text in tree.text.items():
        for number, line in numbered(text):
            if UNFINISHED.search(line):
                yield path, number, "unfinished work belongs in docs/coverage.md, not in a comment"
            if OWN_MACHINE.search(line):
                yield path, number, "a path that exists on one machine only"


def prose_of(path, text):
    """(line number, words) of all sentences: prose of documents, comments of code, without names in code."""
    in_code = False
    for number, line in numbered(text):
        if path.endswith(".md"):
            if line.startswith("```"):
                in_code = not in_code
            elif not in_code:
                yield number, CODE_SPAN.sub("", line).lstrip(" |>*-#")
        elif "//" in line and Path(path).suffix in CXX and "}  // namespace" not in line:
            yield number, CODE_SPAN.sub("", line.split("//", 1)[1]).lstrip("/ ")


def check_language(tree):
    for path, text in tree.text.items():
        if not path.startswith(PLAIN):
            continue
        for number, words in prose_of(path, text):
            subject = PRONOUN_SUBJECT.search(words)
            if subject and not words.rstrip().endswith("?"):
                yield path, number, f"'{subject.group(1)}' as a subject: name the thing (docs/glossary.md)"
            term = OLD_TERMS.search(words)
            if term:
                yield path, number, f"'{term.group(0)}' is no term of the field (docs/glossary.md)"
        for number, line in numbered(text):
            match = TEST_NAME.match(line)
            name = (match.group(1) or match.group(2)) if match else ""
            if PRONOUNS.intersection(word.lower() for word in WORD_OF_NAME.findall(name)):
                yield path, number, f"{name}: name the thing (docs/glossary.md)"
        if path.endswith(".md"):
            for number, line in numbered(text):
                if len(line) > DOC_COLUMNS_MAX and not line.startswith(("|", "mpiexec:", "hearth:")):
                    yield path, number, f"{len(line)} columns, at most {DOC_COLUMNS_MAX} outside of tables"


def check_headers(tree):
    for path in tree.paths({".h"}):
        if layer_of(path) is None:
            continue
        text = tree.text[path]
        if not text.startswith(("//", "/*")):
            yield path, 1, "a header opens with a comment: what it owns, who calls it"
        if "#pragma once" not in text:
            yield path, 1, "no #pragma once"
    for path in tree.paths(SCRIPTS):
        lines = tree.text[path].splitlines()
        lines = lines[1:] if lines and lines[0].startswith("#!") else lines
        if lines and not lines[0].startswith(("#", '"""')):
            yield path, 1, "a script opens with a comment that says what it is for"


CLASS_HEAD = re.compile(r"\b(class|struct)\s+(?:alignas\(\w*\)\s*)?(\w+)[^;{}()=]*\{")
NO_MEMBER = re.compile(r"(using|friend|static|template|enum|class)\b|struct\s+\w+\s*(\{\})?$")


def statements_of(body):
    """Access labels and statements at the top level of a class, with {} for what is in braces."""
    statement, depth = "", 0
    for char in body:
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            statement += "{}" if depth == 0 else ""
            if depth == 0 and "(" in statement.split("=")[0]:
                yield statement.strip()
                statement = ""
        elif depth == 0 and char == ";":
            yield statement.strip()
            statement = ""
        elif depth == 0:
            statement += char
            label = re.search(r"\b(public|protected|private)\s*:$", statement)
            if label and not statement.rstrip(":").endswith(":"):
                yield label.group(1)
                statement = ""


def size_of_class(kind, body):
    """(public methods, members) of a class."""
    methods = members = 0
    access = "public" if kind == "struct" else "private"
    for statement in statements_of(body):
        if statement in ("public", "protected", "private"):
            access = statement
            continue
        words = re.sub(r"\[\[[^]]*\]\]|alignas\([^)]*\)", "", statement).strip()
        if "(" in words.split("=")[0]:
            methods += access == "public" and not words.startswith("static_assert")
        elif words and not NO_MEMBER.match(words):
            members += 1
    return methods, members


def check_classes(tree):
    for path in tree.paths({".h"}):
        if not path.startswith(CLASS_FOLDERS):
            continue
        text = re.sub(r"//[^\n]*|#[^\n]*", "", tree.text[path])
        for head in CLASS_HEAD.finditer(text):
            depth, end = 1, head.end()
            while depth > 0 and end < len(text):
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            methods, members = size_of_class(head.group(1), text[head.end():end - 1])
            start = tree.text[path].find(f"{head.group(1)} {head.group(2)}")
            line = tree.text[path].count("\n", 0, max(start, 0)) + 1
            if methods > PUBLIC_METHODS_MAX:
                yield path, line, f"{head.group(2)}: {methods} public methods, at most {PUBLIC_METHODS_MAX}"
            if members > MEMBERS_MAX:
                yield path, line, f"{head.group(2)}: {members} members, at most {MEMBERS_MAX}"


def check_dead(tree):
    """Every source is built, every header included, and every script named by another file."""
    builders = [p for p in tree.text if p.endswith(("CMakeLists.txt", ".cmake")) or p.startswith("bench/")]
    builds = "\n".join(tree.text[path] for path in builders)
    included = set()
    for path, text in tree.text.items():
        own = path[:-4] + ".h" if path.endswith(".cpp") else None  # x.h needs an includer besides x.cpp
        for target in re.findall(r'["<]([\w./]+\.(?:h|def))\\?[">]', text):
            beside = os.path.normpath(Path(path).parent / target)
            included |= {f"src/{target}", f"tools/{target}", beside, target} - {own}
    for path in tree.paths({".cpp", ".c"}):
        # examples/ is for the reader and not part of the build.
        name = re.escape(Path(path).name)
        if not path.startswith("examples/") and not re.search(rf"(?<![\w]){name}(?!\w)", builds):
            yield path, 1, "no CMakeLists.txt names this file: dead, or forgotten"
    for path in tree.paths({".h", ".def"}):
        if path not in included:
            yield path, 1, "nobody includes this file"
    words = {path: set(re.findall(r"[\w.-]+", text)) for path, text in tree.text.items()}
    for path in tree.paths(SCRIPTS | {".txt", ".md", ".in"}):
        name, stem = Path(path).name, Path(path).stem
        if name in ("CMakeLists.txt", "README.md", "__init__.py") or "LICENSE" in name:
            continue
        names = {name, stem} if name.endswith(".py") else {name}
        dotted = {f"{Path(path).parent.name}.{stem}"} if name.endswith(".py") else set()
        if not any(words[other] & (names | dotted) for other in words if other != path):
            yield path, 1, "no other file names this one: dead, or forgotten"


CHECKS = [check_includes, check_machine, check_sizes, check_words, check_language, check_headers,
          check_classes, check_dead]


def complaints(root):
    tree = Tree(root)
    return [(path, line, text) for check in CHECKS for path, line, text in check(tree)]


def find_clang_format():
    for name in (f"clang-format-{CLANG_FORMAT_MAJOR}", "clang-format"):
        program = shutil.which(name)
        if program is None:
            continue
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
        if re.search(rf"version {CLANG_FORMAT_MAJOR}\.", version):
            return program
    return None


def check_format(root):
    program = find_clang_format()
    if program is None:
        print(f"tidy: clang-format {CLANG_FORMAT_MAJOR} is not installed; layout is not checked")
        return 77
    # x.in.h is half of a header that the generator completes.
    files = [str(Path(root, path)) for path in Tree(root).paths(CXX) if not path.endswith(".in.h")]
    result = subprocess.run([program, "--dry-run", "-Werror", "--ferror-limit=1", *files], check=False)
    if result.returncode != 0:
        print("tidy: `make format` lays these files out")
        return 1
    print(f"tidy: {len(files)} files are laid out as .clang-format says")
    return 0


def main(arguments):
    form = "--format" in arguments
    arguments = [a for a in arguments if a != "--format"]
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent)
    if form:
        return check_format(root)
    found = complaints(root)
    for path, line, text in found:
        print(f"{path}:{line}: {text}")
    tree = Tree(root)
    large = [(len(tree.text[p].splitlines()), p) for p in tree.paths(CODE)]
    for lines, path in sorted(large, reverse=True):
        if LINES_NOTED < lines <= LINES_MAX:
            print(f"note: {path} has {lines} lines")
    print(f"tidy: {len(tree.text)} files, {len(found)} rules broken")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
