#!/usr/bin/env python3
"""Recipes in packaging/, and the workflows: their options, targets, packages and scripts exist."""

import re
import sys
import types
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What CMake looks for, and its name in each packager's collection.
DEPENDENCIES = {
    "hwloc": ("hwloc", "libhwloc"),
    "fmt": ("fmt", "fmt"),
    "CLI11": ("cli11", "cli11"),
    "nlohmann_json": ("nlohmann-json", "nlohmann_json"),
    "Boost": ("boost", "libboost-headers"),
    "rdma/fabric.h": ("libfabric", "libfabric"),
}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def cmake_text():
    files = [
        ROOT / "CMakeLists.txt",
        *(ROOT / "src").rglob("CMakeLists.txt"),
        *(ROOT / "tools").rglob("CMakeLists.txt"),
    ]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def load_spack_recipe():
    """(directives as (name, arguments), the class) of the recipe, with a stub in Spack's place."""
    directives = []

    def directive(name):
        return lambda *arguments, **options: directives.append((name, arguments, options))

    stub = types.ModuleType("spack.package")
    for name in ("license", "version", "variant", "depends_on", "provides", "conflicts", "generator"):
        setattr(stub, name, directive(name))
    stub.CMakePackage = type("CMakePackage", (), {"define": lambda self, name, value: f"-D{name}={value}"})
    stub.join_path = lambda *parts: "/".join(map(str, parts))
    stub.find_libraries = lambda name, **options: (name, options)
    sys.modules["spack"] = types.ModuleType("spack")
    sys.modules["spack.package"] = stub
    names = {}
    exec(compile(read("packaging/spack/package.py"), "package.py", "exec"), names)
    return directives, names["HearthMpi"]


def load_yaml(test, name):
    for folder in (ROOT / ".venv").glob("lib/python3*/site-packages"):
        sys.path.append(str(folder))
    try:
        import yaml
    except ImportError:
        test.skipTest("no PyYAML: scripts/setup.sh python installs it into .venv")
    return yaml.safe_load(read(name))


class Recipes(unittest.TestCase):
    def check_options(self, options):
        known = set(re.findall(r"(?:option|set)\((HEARTH_\w+)", read("CMakeLists.txt")))
        for option in options:
            self.assertTrue(option.startswith("CMAKE_") or option in known, option)

    def test_every_dependency_of_cmake_has_a_name_in_each_recipe(self):
        text = cmake_text()
        for found in re.findall(r"find_package\((\w+)", text):
            self.assertIn(found, {*DEPENDENCIES, "Python3", "Threads", "PkgConfig", "hearth"})
        for name in DEPENDENCIES:
            self.assertIn(name, text)

    def test_spack(self):
        directives, package = load_spack_recipe()
        needed = {arguments[0].split("@")[0] for name, arguments, _ in directives if name == "depends_on"}
        self.assertLessEqual({spack for spack, _ in DEPENDENCIES.values()}, needed)
        arguments = package().cmake_args()
        self.check_options([re.match(r"-D(\w+)=", word).group(1) for word in arguments])
        self.assertIn("add_custom_target(hearth_installation", read("CMakeLists.txt"))
        self.assertEqual(package.build_targets, ["hearth_installation"])
        self.assertIn(("provides", ("mpi@:5.0",), {}), directives)
        package.prefix = types.SimpleNamespace(bin="/prefix/bin")
        variables = {}
        package().setup_run_environment(types.SimpleNamespace(set=variables.__setitem__))
        self.assertEqual(variables, {"MPICC": "/prefix/bin/mpicc", "MPICXX": "/prefix/bin/mpicxx"})
        package.spec = types.SimpleNamespace()
        package().setup_dependent_package(None, None)
        self.assertEqual(package.spec.mpicc, "/prefix/bin/mpicc")

    def test_conda(self):
        recipe = load_yaml(self, "packaging/conda/recipe.yaml")
        version = re.search(r"project\(hearth VERSION ([\d.]+)", read("CMakeLists.txt")).group(1)
        self.assertEqual(recipe["context"]["version"], version)
        host = {row.split()[0] for row in recipe["requirements"]["host"]}
        self.assertEqual(host, {conda for _, conda in DEPENDENCIES.values()})
        commands = " ".join(recipe["build"]["script"])
        self.check_options(re.findall(r"-D(\w+)=", commands))
        self.assertIn("--target hearth_installation", commands)
        self.assertTrue((ROOT / recipe["about"]["license_file"]).is_file())

    def test_docker(self):
        text = re.sub(r"\\\n", " ", read("packaging/docker/Dockerfile"))
        words = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
        self.assertEqual(
            [word for word, _ in words], ["FROM", "COPY", "RUN", "RUN", "USER", "WORKDIR", "CMD"]
        )
        self.assertEqual(words[1][1], "hearth-mpi_*.deb /tmp/")
        self.assertIn("set(CPACK_PACKAGE_NAME hearth-mpi)", read("cmake/package.cmake"))

    def test_workflows(self):
        targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE))
        setups = set(re.findall(r"^  ([\w-]+)\) .*\bsetup_", read("scripts/setup.sh"), re.MULTILINE))
        for name in ("ci.yml", "release.yml"):
            workflow = load_yaml(self, f".github/workflows/{name}")
            commands = [
                step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step
            ]
            self.assertTrue(commands)
            for command in commands:
                words = command.split()
                if words[0] == "make":
                    self.assertIn(words[1], targets, command)
                elif words[0] == "scripts/setup.sh":
                    self.assertIn(words[1], setups, command)
                elif words[0] == "bash":
                    self.assertTrue((ROOT / words[1]).is_file(), command)
                else:
                    self.assertIn(words[0], ("grep", "rm"), command)
            for job in workflow["jobs"].values():
                for needed in [job["needs"]] if "needs" in job else []:
                    self.assertIn(needed, workflow["jobs"])


if __name__ == "__main__":
    unittest.main()
