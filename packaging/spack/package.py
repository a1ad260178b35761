# Spack's recipe. Put it into a repository as packages/hearth_mpi/package.py; then, in the folder of Hearth's
# tree, `spack dev-build hearth-mpi@main`. No release has an address yet.
from spack.package import *


class HearthMpi(CMakePackage):
    """MPI 5.0 library with the standard ABI, optimised for a single node."""

    license("BSD-3-Clause")

    version("main")

    variant("fabric", default=True, description="Jobs on several machines, by libfabric")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.8:", type="build")
    depends_on("hwloc@2.3:")
    depends_on("fmt", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("boost@1.65:", type="build")
    depends_on("libfabric", when="+fabric")

    provides("mpi@:5.0")

    conflicts("%gcc@:11", msg="C++20 as Hearth uses it needs GCC 12")
    conflicts("%clang@:13", msg="C++20 as Hearth uses it needs Clang 14")
    conflicts("platform=darwin")
    conflicts("platform=windows")

    generator("ninja")
    build_targets = ["hearth_installation"]

    def cmake_args(self):
        return [self.define("HEARTH_TESTS", False), self.define("CMAKE_INSTALL_LIBDIR", "lib")]

    def setup_run_environment(self, env):
        env.set("MPICC", join_path(self.prefix.bin, "mpicc"))
        env.set("MPICXX", join_path(self.prefix.bin, "mpicxx"))

    def setup_dependent_build_environment(self, env, dependent_spec):
        # The wrappers call Spack's compilers.
        self.setup_run_environment(env)
        env.set("HEARTH_CC", spack_cc)
        env.set("HEARTH_CXX", spack_cxx)

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")

    @property
    def libs(self):
        return find_libraries("libmpi_abi", root=self.prefix, shared=True, recursive=True)
