# snii: search and key indexes for PostgreSQL
EXTENSION = snii
MODULE_big = snii
DATA = $(wildcard sql/snii--*.sql)
PGFILEDESC = "snii - search and key index access method"

SNII_SOURCES = $(sort $(wildcard src/*.c src/*/*.c))
SNII_HEADERS = $(sort $(wildcard src/*.h src/*/*.h))
OBJS = $(SNII_SOURCES:.c=.o)

PG_CPPFLAGS = -I$(srcdir)/src
SHLIB_LINK = -licuuc -licui18n -lzstd

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Debian's PGXS does not track headers.
$(OBJS) $(OBJS:.o=.bc): $(SNII_HEADERS)
