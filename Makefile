# Thin front doors; the work is done by CMake (CMakePresets.json), CTest and scripts/.
#
#   make           build, and leave a runnable installation in build/install
#   make run       two ranks exchange data: the benchmark's table, then a program in Python
#   make test      everything that can be tested on this machine
#   make soak      the tests that take long
#   make check-conformance   mpi4py's suite and programs of others, at all numbers of ranks
#   make check-hpcc          HPCC: Linpack, PTRANS, RandomAccess, FFT, at 2, 4 and 8 ranks
#   make check-sanitizers    everything under the address, undefined-behaviour and thread sanitizers
#   make check-peers         our own test programs on other MPI libraries: that proves the tests
#   make check-hosts         the same programs and HPCC on two, three and four hosts, made of namespaces, and mpi4py's
#                            suite on two, by Hydra, PRRTE and Slurm
#   make check-scale         collectives of 1024 and 4096 simulated ranks: what each sends, connects to and keeps
#   make check-lab           virtual machines with several memory nodes: where memory lies; with Yama
#   make check-surroundings  all tests without single copy, room in /dev/shm, /sys, a second processor, with all of
#                            the heap shared, and with none, in turn
#   make check-chaos         each system call failed in turn, ranks killed at each named point, many seeds of disorder
#   make check-models        the protocols in shared memory, every state of small models of them, by SPIN
#   make fuzz      every parser, and whatever reads memory or messages of others, with libFuzzer, each for
#                  FUZZ_SECONDS (60)
#   make check-valgrind      all programs of tests/multi under valgrind, with two ranks; with more where some die
#   make check-aarch64       the library and its unit and contract tests, cross-compiled for aarch64, in QEMU
#   make compare   how fast we are beside the other MPI libraries
#   make format    lay the sources out
#   make clean     remove what was built;  make distclean: and what was fetched
.DEFAULT_GOAL := install
.NOTPARALLEL:
.PHONY: install run test soak check-conformance check-hpcc check-sanitizers check-peers check-hosts check-scale check-lab \
  check-surroundings check-chaos check-models check-valgrind fuzz check-aarch64 compare format clean distclean check \
  system python

install: check
	@scripts/build.sh release hearth_installation
	@cmake --install build/release >build/install.log || { cat build/install.log; exit 1; }

check:
	@scripts/setup.sh check

system:
	@scripts/setup.sh system

# Both need the packages before anything is built, and the library before mpi4py.
python: system install
	@scripts/setup.sh python

run: python
	build/install/bin/hearth bench
	build/install/bin/mpiexec -n 2 .venv/bin/python examples/exchange.py

test: system install
	@scripts/setup.sh foreign
	@scripts/setup.sh netpipe
	@scripts/setup.sh hpcc
	@scripts/test.sh

soak: python
	@ctest --test-dir build/release --output-on-failure --label-regex soak

check-peers: install
	@scripts/build.sh release
	@tests/conformance/peers.py --table build/release/tests/multi_table.txt

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

check-lab: install
	@scripts/setup.sh lab
	@scripts/build.sh release lab_pages launch_job
	@HEARTH_BUILD=build/release python3 -B tests/lab/check.py

check-surroundings: system install
	@scripts/setup.sh foreign
	@scripts/setup.sh netpipe
	@scripts/setup.sh hpcc
	@scripts/build.sh release
	@python3 -B tests/launch/surroundings.py --build build/release

check-chaos: install
	@scripts/build.sh release multi_traffic failing_malloc
	@status=0; for form in "seeds.py --count 300" sweep.py kills.py; do \
	  HEARTH_BUILD=build/release python3 -B tests/chaos/$$form || status=1; \
	done; exit $$status

check-conformance: system install
	@scripts/setup.sh foreign
	@scripts/setup.sh netpipe
	@scripts/setup.sh hpcc
	@scripts/build.sh release
	@ctest --test-dir build/release --parallel "$$(nproc)" --output-on-failure --label-regex conformance

check-hpcc: system install
	@scripts/setup.sh hpcc
	@scripts/build.sh release
	@ctest --test-dir build/release --verbose --tests-regex '^hpcc$$'

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

check-aarch64:
	@scripts/setup.sh aarch64
	@scripts/build.sh aarch64 hearth_unit_tests
	@ctest --test-dir build/aarch64 --output-on-failure --label-regex "unit|contract"

compare: python
	bench/compare

format:
	@clang-format -i $$(git ls-files '*.h' '*.cpp' '*.c' ':!*.in.h')

clean:
	rm -rf build

distclean: clean
	rm -rf .venv .cache
