# Thin front doors; the work is done by CMake (CMakePresets.json), CTest and scripts/.
#
#   make           build, and leave a runnable installation in build/install
#   make install   install under PREFIX (/usr/local), below DESTDIR if that is set
#   make wheel     build it for all systems with glibc 2.28, and pack it into dist/hearth_mpi-...whl, for `pip install`;
#                  MACHINE=aarch64 by a cross compiler
#   make deb       pack the same into dist/hearth-mpi_...deb, for Debian and Ubuntu;
#                  MAINTAINER="NAME <ADDRESS>" names its publisher
#   make quick     after a change: the fast tests, in less than two minutes
#   make run       two ranks exchange data: the benchmark's table, then a program in Python
#   make test      everything that can be tested on this machine
#   make soak      the tests that take long
#   make check-conformance   mpi4py's suite and programs of others, at all numbers of ranks
#   make check-facade        programs of MPICH and Open MPI, and the mpi4py wheel, through the facades
#   make check-fortran       the bindings of Fortran with GNU Fortran and LLVM flang, and programs in Fortran of MPICH
#                            and Open MPI
#   make check-hpcc          HPCC: Linpack, PTRANS, RandomAccess, FFT, at 2, 4 and 8 ranks
#   make check-programs      FFTW, LAMMPS and PETSc, built from their source archives, and HPCC; takes an hour
#   make check-clang         everything built by Clang, and tested
#   make check-minimal       the library, mpiexec, hearth and the unit tests, without all parts that can be left out
#   make check-sanitizers    everything under the address, undefined-behaviour and thread sanitizers
#   make check-peers         our own test programs on other MPI libraries: that proves the tests
#   make check-hosts         the same programs and HPCC on two, three and four hosts, made of namespaces, and mpi4py's
#                            suite on two, by Hydra, PRRTE and Slurm
#   make check-scale         collectives of 1024 and 4096 simulated ranks: what each sends, connects to and keeps
#   make check-lab           virtual machines with several memory nodes: where memory lies; with Yama
#   make check-surroundings  all tests without single copy, room in /dev/shm, /sys, a second processor, with all of
#                            the heap shared, and with none, in turn
#   make check-chaos         each system call failed in turn, ranks killed at each named point, many seeds of disorder
#   make check-verdicts      random right programs under --check=fatal and --why: none may be called wrong; RUNS
#                            (1000) of them from SEED (the clock) on
#   make check-allocations   each allocation of the library failed in turn, in each program of tests/multi: hours
#   make check-models        the protocols in shared memory, every state of small models of them, by SPIN
#   make fuzz      every parser, and whatever reads memory or messages of others, with libFuzzer, each for
#                  FUZZ_SECONDS (60)
#   make check-valgrind      all programs of tests/multi under valgrind, with two ranks; with more where some die
#   make check-packages      the wheel and the Debian package in bare systems of Debian 11 and 12; needs root
#   make check-wheel-aarch64 the wheel for aarch64, in QEMU
#   make check-aarch64       the library and its unit and contract tests, cross-compiled for aarch64, in QEMU
#   make compare   how fast we are beside the other MPI libraries
#   make performance         the same for all families of cases, in MINUTES (25): docs/performance.md with its pictures
#   make format    lay the sources out
#   make clean     remove what was built;  make distclean: and what was fetched
.DEFAULT_GOAL := all
PREFIX ?= /usr/local
.NOTPARALLEL:
.PHONY: all install wheel deb quick run test soak check-conformance check-facade check-fortran check-hpcc check-clang check-programs \
  check-sanitizers \
  check-peers check-hosts check-scale check-lab check-surroundings check-chaos check-verdicts check-allocations \
  check-minimal check-models check-valgrind check-packages check-wheel-aarch64 fuzz check-aarch64 compare performance format \
  clean distclean check system python

all: check
	@scripts/build.sh release hearth_installation
	@cmake --install build/release >build/install.log || { cat build/install.log; exit 1; }

# What `make` has built; as root too, since nothing is built as long as it is up to date.
install: check
	@scripts/build.sh release hearth_installation
	@cmake --install build/release --prefix "$(PREFIX)"

# MACHINE=x86_64 or aarch64; the machine's own is the default.
MACHINE ?= $(shell uname -m)
wheel_preset = wheel$(if $(filter-out $(shell uname -m),$(MACHINE)),-$(MACHINE))
wheel: check
	@scripts/setup.sh $(wheel_preset)
	@scripts/build.sh $(wheel_preset) hearth_installation
	@rm -rf build/$(wheel_preset)/prefix
	@cmake --install build/$(wheel_preset) >build/$(wheel_preset)/install.log
	@python3 scripts/wheel.py build/$(wheel_preset)/prefix dist

MAINTAINER ?=
deb: check
	@scripts/setup.sh wheel
	@scripts/build.sh wheel hearth_installation
	@cd build/wheel && cpack $(if $(MAINTAINER),-D CPACK_PACKAGE_CONTACT="$(MAINTAINER)") -B "$(CURDIR)/dist" >cpack.log || { cat cpack.log; exit 1; }
	@rm -rf dist/_CPack_Packages
	@ls dist/*.deb

quick: check
	@scripts/build.sh release hearth_quick_tests
	@ctest --test-dir build/release --parallel "$$(nproc)" --output-on-failure --no-label-summary \
	  --label-regex "unit|contract|tidy|quick" --label-exclude "soak|more"

check:
	@scripts/setup.sh check

system:
	@scripts/setup.sh system

# Both need the packages before anything is built, and the library before mpi4py.
python: system all
	@scripts/setup.sh python

run: python
	build/install/bin/hearth bench
	build/install/bin/mpiexec -n 2 .venv/bin/python examples/exchange.py

test: system all
	@scripts/test.sh

soak: python
	@ctest --test-dir build/release --output-on-failure --label-regex soak

check-peers: all
	@scripts/build.sh release
	@tests/conformance/peers.py --table build/release/tests/multi_table.txt
	@tests/conformance/peers.py --table build/release/tests/fortran_table.txt --peers mpich-abi,impi-abi

# mpi4py's suite takes its time on more hosts than processors.
check-hosts: some = --what programs --what hpcc
check-hosts: python
	@scripts/setup.sh slurm
	@scripts/setup.sh hpcc
	@scripts/build.sh release
	@status=0; for form in "2" "3 --launcher hydra $(some)" "4 --launcher slurm $(some)"; do \
	  python3 -B tests/hosts/check_hosts.py --build build/release --cache .cache --python .venv/bin/python \
	    --mpicc build/install/bin/mpicc --hosts $$form || status=1; \
	done; exit $$status

check-scale:
	@scripts/build.sh release contract_scale
	@HEARTH_SCALE_RANKS=1024,4096 build/release/tests/contract/contract_scale --gtest_filter=Scale.figures_of_large_jobs

check-lab: all
	@scripts/setup.sh lab
	@scripts/build.sh release lab_pages lab_strict launch_job
	@HEARTH_BUILD=build/release python3 -B tests/lab/check.py

check-surroundings: system all
	@scripts/setup.sh foreign
	@scripts/setup.sh netpipe
	@scripts/setup.sh hpcc
	@scripts/build.sh release
	@python3 -B tests/launch/surroundings.py --build build/release

check-chaos: all
	@scripts/build.sh release multi_traffic failing_malloc launch_spawn_family
	@status=0; for form in "seeds.py --count 300" sweep.py kills.py spawn.py; do \
	  HEARTH_BUILD=build/release python3 -B tests/chaos/$$form || status=1; \
	done; exit $$status

RUNS ?= 1000
SEED ?= clock
check-verdicts: all
	@scripts/build.sh release verdicts_right
	@HEARTH_BUILD=build/release python3 -B tests/verdicts/check.py --runs $(RUNS) --seed $(SEED)

check-allocations: all
	@HEARTH_BUILD=build/release python3 -B tests/chaos/allocations.py --every

check-conformance: system all
	@scripts/setup.sh foreign
	@scripts/setup.sh netpipe
	@scripts/setup.sh hpcc
	@scripts/build.sh release
	@ctest --test-dir build/release --parallel "$$(nproc)" --output-on-failure --label-regex conformance

check-facade: system all
	@scripts/setup.sh foreign
	@scripts/setup.sh debian
	@scripts/build.sh release
	@ctest --test-dir build/release --parallel "$$(nproc)" --output-on-failure --label-regex facade

check-fortran: system all
	@scripts/setup.sh debian
	@scripts/setup.sh flang
	@scripts/build.sh release
	@ctest --test-dir build/release --parallel "$$(nproc)" --output-on-failure --label-regex fortran

check-hpcc: system all
	@scripts/setup.sh hpcc
	@scripts/build.sh release
	@ctest --test-dir build/release --verbose --tests-regex '^hpcc$$'

check-programs: check-hpcc
	@scripts/setup.sh programs
	@python3 -B tests/conformance/programs.py --folder .cache/programs --prefix build/install \
	  --work build/programs --blas .cache/hpcc/libopenblas.a

check-clang: python
	@scripts/setup.sh clang
	@scripts/build.sh clang
	@ctest --test-dir build/clang --parallel "$$(nproc)" --output-on-failure --no-label-summary \
	  --label-exclude "soak|more"

check-minimal: check
	@scripts/build.sh minimal mpi_abi mpiexec hearth hearth_unit_tests
	@ctest --test-dir build/minimal --parallel "$$(nproc)" --output-on-failure --no-label-summary \
	  --label-regex "unit|contract" --label-exclude "soak|more"

check-sanitizers: python
	@scripts/build.sh asan all hearth_spared
	@scripts/build.sh tsan all hearth_spared
	@status=0; for preset in asan tsan; do \
	  ctest --test-dir build/$$preset --parallel "$$(nproc)" --output-on-failure --no-label-summary || status=1; \
	done; exit $$status

check-models:
	@scripts/setup.sh models
	@python3 -B tests/models/check.py

check-valgrind: system
	@scripts/setup.sh valgrind
	@scripts/build.sh release
	@python3 -B tests/conformance/valgrind.py --table build/release/tests/multi_table.txt \
	  --faults build/release/tests/fault_table.txt

fuzz: system
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh

# The tree has no address of its own.
without_address = --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog
check-packages: wheel deb
	@scripts/setup.sh packages
	@scripts/setup.sh notebook
	@.cache/wheel/venv/bin/auditwheel show dist/hearth_mpi-*_$(MACHINE).whl
	@for test in test_wheel.py test_installers.py test_notebook.py; do \
	  HEARTH_WHEEL="$$(ls "$(CURDIR)"/dist/hearth_mpi-*_$(MACHINE).whl)" python3 -B tests/wheel/$$test || exit 1; \
	done
	@lintian --allow-root --fail-on error,warning dist/hearth-mpi_*.deb $(if $(MAINTAINER),,$(without_address))
	@python3 -B tests/packages/check_roots.py --cache .cache/roots --wheel dist/hearth_mpi-*_$(MACHINE).whl \
	  --deb dist/hearth-mpi_*.deb

check-wheel-aarch64:
	@$(MAKE) wheel MACHINE=aarch64
	@python3 -B tests/packages/check_aarch64.py dist/hearth_mpi-*_aarch64.whl

check-aarch64:
	@scripts/setup.sh aarch64
	@scripts/build.sh aarch64 hearth_unit_tests
	@ctest --test-dir build/aarch64 --output-on-failure --label-regex "unit|contract"

compare: python
	bench/compare

MINUTES ?= 25
performance: python
	@scripts/setup.sh performance
	@.cache/matplotlib/bin/python -B bench/performance --minutes $(MINUTES)

format:
	@clang-format -i $$(git ls-files '*.h' '*.cpp' '*.c' ':!*.in.h')

clean:
	rm -rf build

distclean: clean
	rm -rf .venv .cache
