EXTENSION = gpusort
MODULE_big = gpusort
DATA = $(wildcard sql/gpusort--*.sql)

include kernels/kernels.mk
KERNEL_OBJS = $(KERNEL_SOURCES:.c=.o)
SERVER_OBJS := $(patsubst %.c,%.o,$(filter-out src/service/%,$(call sources,src,*.c))) src/service/protocol.o
OBJS = $(SERVER_OBJS) $(KERNEL_OBJS)
# what they were compiled for, and how
SERVER_STAMP = src/server.stamp
FLAGS_STAMP = kernels/flags.stamp

# test/sql/*.sql with expected/*.out; the options load the library into every session of the tests
REGRESS = $(sort $(patsubst test/sql/%.sql,%,$(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --no-locale --encoding=UTF8 --load-extension=gpusort
installcheck: export PGOPTIONS += -c session_preload_libraries=gpusort

EXTRA_CLEAN = gpusortd build results regression.diffs regression.out tmp_check log bench/engine bench/jobs bench/jobs-gpu bench/proofs test/*/build \
	$(shell find src kernels -name '*.[od]' -o -name '*.stamp')

# compilers note beside each object what they have read for it; a server that does so in a way of its own knows no folders
PG_CPPFLAGS = -I. -MMD -MP
override autodepend = no
# before PostgreSQL 16 headers declare callbacks as `bool (*walker) ()`, which in C23, gcc's own choice from 15 on, takes no arguments;
# those of 19 have what its own compiler knew, and that of C23 if this did (typeof_unqual).
# WERROR=1 makes errors of warnings, for those who change the code: another compiler warns of other things
PG_CFLAGS = $(if $(filter 15 16 17 18,$(MAJORVERSION)),-std=gnu11) -Wextra $(if $(WERROR),-Werror) -Wno-unused-parameter
# a server that gcc built hands on its flags, and headers with its attributes, of which clang does not know all
ifneq ($(findstring clang,$(CC)),)
PG_CFLAGS += -Wno-unknown-warning-option -Wno-ignored-optimization-argument -Wno-ignored-attributes
endif
SHLIB_LINK = -Wl,--version-script=src/exports.map
# the primitives know nothing of the server, not even its headers; SANITIZE has flags that its server was built with
$(KERNEL_OBJS): override CFLAGS := -std=gnu11 -O3 -g -fPIC -Wall -Wextra $(if $(WERROR),-Werror) $(SANITIZE)
$(KERNEL_OBJS): override CPPFLAGS := -I. -MMD -MP
# bitcode serves the inlining of functions into compiled expressions; nothing here is called from expressions
override with_llvm = no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
# pgxs.mk comes with Debian's client, and so does not mean that a server's headers are there
PG_HEADER := $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)/postgres.h
# pgxs.mk has a `check` that does nothing, so that of ours goes without it
ifeq ($(MAKECMDGOALS),check)
check:
	@PG_CONFIG='$(PG_CONFIG)' test/run.sh check
else ifneq ($(and $(wildcard $(PGXS)),$(wildcard $(PG_HEADER))),)
include $(PGXS)
include src/service/service.mk
$(MODULE_big).so: src/exports.map
-include $(OBJS:.o=.d)
# another server compiles the extension anew, other sanitizers all but it
$(eval $(call stamp,$(SERVER_STAMP),$(shell $(PG_CONFIG) --version) \
	$(shell $(PG_CONFIG) --includedir-server --configure --cppflags --cflags | cksum)))
$(eval $(call stamp,$(FLAGS_STAMP),sanitizers: $(SANITIZE)))
$(SERVER_OBJS): $(SERVER_STAMP)
$(KERNEL_OBJS): $(FLAGS_STAMP)
# a running server may be older than the headers; what is put below another root is for other machines
install: install-advice
install-advice: install-lib
ifeq ($(DESTDIR),)
	@packaging/running.sh advise '$(PG_CONFIG)' >&2 || true
endif
else
all install uninstall installcheck clean:
	@bash -c 'root=.; . test/lib.sh; die "$$(why_not "$$1")"' - '$(PG_CONFIG)'
endif

.PHONY: check demo dist deb docs test test-large soak crash columns-storm columns-random columns-windows columns-rolls valgrind asan-server fuzz tsan coverage mutants gpucheck \
	spills bench-columns bench-everyday bench-kernels bench-queries bench-sessions bench-shards

# On a fresh machine: install what is missing, build, run in temporary directories, clean up; `make check`, above, is a part of test that takes
# three minutes
demo:
	@PG_CONFIG='$(PG_CONFIG)' bench/demo.sh
test:
	@PG_CONFIG='$(PG_CONFIG)' test/run.sh

# What PGXN takes, and packages for Debian; both in build/
dist:
	@packaging/dist.sh
deb:
	@packaging/deb.sh

# The documentation as a site, in build/site; needs PyPI once
docs:
	@packaging/docs.sh

# Hours, and sizes that need much memory
test-large:
	@PG_CONFIG='$(PG_CONFIG)' test/run.sh large

# A random storm over a server under load: make soak SECONDS=3600 SEED=7
soak: SECONDS = 600
soak:
	@PG_CONFIG='$(PG_CONFIG)' SOAK_SECONDS='$(SECONDS)' $(if $(SEED),SEED='$(SEED)') test/run.sh soak

# The whole system crashes under a load: a virtual machine is killed, ROUNDS times
crash: ROUNDS = 3
crash:
	@PG_CONFIG='$(PG_CONFIG)' $(if $(SEED),SEED='$(SEED)') test/crash.sh '$(ROUNDS)'

# Resident columns: a storm, each answer compared; random queries; a day's worth of the keeper's rolls.  For TIME
# seconds; QUERIES over windows
columns-storm:
	@PG_CONFIG='$(PG_CONFIG)' STORM_SECONDS='$(TIME)' ONLY=columns_storm VERBOSE=1 test/run.sh tap
columns-random:
	@PG_CONFIG='$(PG_CONFIG)' COLUMNS_RANDOM_SECONDS='$(TIME)' ONLY=columns_random VERBOSE=1 test/run.sh tap
columns-windows: QUERIES = 20000
columns-windows:
	@PG_CONFIG='$(PG_CONFIG)' COLUMNS_WINDOWS='$(QUERIES)' ONLY=columns_windows VERBOSE=1 test/run.sh tap
columns-rolls:
	@PG_CONFIG='$(PG_CONFIG)' ROLLS_SECONDS='$(TIME)' ONLY=columns_rolls VERBOSE=1 test/run.sh tap

# The server under valgrind; slow
valgrind:
	@PG_CONFIG='$(PG_CONFIG)' test/valgrind.sh

# regress and pgTAP in a server with AddressSanitizer, UBSan and assertions, built from source: PG_SOURCE=, or Debian's
asan-server:
	@PG_CONFIG='$(PG_CONFIG)' test/asan-server.sh

# Each of some hours: libFuzzer (clang) on every program for TIME seconds; the service under ThreadSanitizer; which lines the suites
# reach; whether they notice deliberate faults.  What they found last stands in doc/testing.md.
TIME ?= 600
fuzz:
	$(MAKE) -C test/fuzz fuzz TIME=$(TIME)
	$(MAKE) -C test/fuzz_server fuzz TIME=$(TIME) PG_CONFIG='$(PG_CONFIG)'
tsan:
	@PG_CONFIG='$(PG_CONFIG)' test/tsan.sh
coverage:
	@PG_CONFIG='$(PG_CONFIG)' test/coverage.sh
mutants:
	@PG_CONFIG='$(PG_CONFIG)' nice -n 5 test/mutants/run.sh

# On a host with an NVIDIA GPU and nvcc
gpucheck:
	@set -e; for dir in $(dir $(wildcard test/*/Makefile)); do \
		if grep -q '^gpucheck:' $$dir/Makefile; then $(MAKE) -C $$dir gpucheck; fi; done
# Which kernels spill registers, by architecture; needs nvcc and an hour of processor time, no GPU
spills:
	@test/spills.sh
# The primitives; on a GPU, too, where there is one
bench-kernels:
	$(MAKE) -f bench/engine.mk
	bench/engine
	$(MAKE) -C bench/kernels cpu
	@if command -v nvcc >/dev/null && [ -e /dev/nvidiactl ]; then $(MAKE) -C bench/kernels run sort; fi

bench-queries:
	@PG_CONFIG='$(PG_CONFIG)' bench/queries.sh
	@PG_CONFIG='$(PG_CONFIG)' bench/functions.sh

# Queries over shards on several servers: postgres_fdw, and Citus where it is installed
bench-shards:
	@PG_CONFIG='$(PG_CONFIG)' bench/shards.sh

# The queries of TPC-H, of TPC-DS and others like them, as a user of a stock server asks them
bench-everyday:
	@PG_CONFIG='$(PG_CONFIG)' bench/everyday.sh

# Hundreds of sessions that sort and ask columns while the service is killed: memory over time, and pgbench beside them
bench-sessions:
	@PG_CONFIG='$(PG_CONFIG)' bench/sessions.sh

# ClickBench's queries and others over resident columns, beside PostgreSQL and DuckDB; needs PyPI and GitHub once
bench-columns:
	@PG_CONFIG='$(PG_CONFIG)' bench/clickbench.sh
