# snii: search and key indexes for PostgreSQL
#
#	make && make install	build with PGXS, into the server of PG_CONFIG
#	make installcheck	all tests of a running server that has it installed
#	make demo		a tour on real text; does all the set-up itself
#	make test		every test; does all the set-up itself
#
# and for developers: lint, indent, fuzz, bench, test-versions, test-assert
# (docs/testing.md says what each does).

EXTENSION = snii
MODULE_big = snii
DATA = $(wildcard sql/snii--*.sql)
PGFILEDESC = "snii - search and key index access method"

SNII_SOURCES = $(sort $(wildcard src/*.c src/*/*.c))
SNII_HEADERS = $(sort $(wildcard src/*.h src/*/*.h))
OBJS = $(SNII_SOURCES:.c=.o)

PG_CPPFLAGS = -I$(srcdir)/src
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers -Wvla -Wwrite-strings
ifdef SNII_NO_MEM_ACCOUNTING
PG_CFLAGS += -DSNII_NO_MEM_ACCOUNTING
endif
ifdef SNII_MEM_EVERY_CHANGE
PG_CFLAGS += -DSNII_MEM_EVERY_CHANGE
endif
ifdef WERROR
PG_CFLAGS += -Werror
endif
SHLIB_LINK = -licuuc -licui18n -lzstd

# Tests are found by their place, unless the environment or the command line
# names some. setup.sql, if there is one, runs first and the rest in the order
# of their names.
SNII_REGRESS := $(sort $(basename $(notdir $(wildcard test/sql/*.sql))))
ifneq ($(origin REGRESS),environment)
REGRESS := $(strip $(filter setup,$(SNII_REGRESS)) \
	$(filter-out setup,$(SNII_REGRESS)))
endif
ifneq ($(origin ISOLATION),environment)
ISOLATION := $(sort $(basename $(notdir $(wildcard test/specs/*.spec))))
endif
ifneq ($(origin PROVE_TESTS),environment)
PROVE_TESTS := $(sort $(wildcard test/t/*.pl))
endif
ifneq ($(PROVE_TESTS),)
TAP_TESTS = 1
endif

PG_CONFIG ?= pg_config
# A pg_config without the server's headers names a file that is not there.
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))

# Inputs lie under test/, expected outputs in expected/. 15 looks for the
# latter in its output folder first; 16 has an option. The last --outputdir
# wins, so that the isolation tests share the folder.
SNII_EXPECTED := $(if $(filter-out 15,$(shell $(PG_CONFIG) --version \
	2>/dev/null | sed 's/[^0-9]*\([0-9]*\).*/\1/')),--expecteddir=.)
REGRESS_OPTS = --inputdir=test $(SNII_EXPECTED) --load-extension=snii
ISOLATION_OPTS = --inputdir=test --outputdir=. $(SNII_EXPECTED) \
	--load-extension=snii

EXTRA_CLEAN = results regression.diffs regression.out log

ifneq ($(PGXS),)
include $(PGXS)

PG_PROVE_FLAGS += -I test/perl

# Debian's PGXS does not track headers.
$(OBJS) $(OBJS:.o=.bc): $(SNII_HEADERS)
else
all install installcheck clean:
	@echo 'snii: no PostgreSQL with server headers was found: install' \
		'postgresql-server-dev-15 or set PG_CONFIG' >&2; exit 2
endif

test:
	@test/run

demo:
	@test/demo

lint:
	@perl test/lint/lint.pl .

indent:
	@test/lint/indent

fuzz:
	@TESTS=fuzz test/run

bench:
	@test/bench/run

test-versions:
	@test/versions

test-assert:
	@test/assert

.PHONY: test demo lint indent fuzz bench test-versions test-assert
