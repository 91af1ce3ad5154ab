EXTENSION = gpusort
MODULE_big = gpusort
DATA = $(wildcard sql/gpusort--*.sql)

KERNEL_OBJS = $(patsubst %.c,%.o,$(wildcard kernels/*.c kernels/cpu/*.c))
OBJS = $(patsubst %.c,%.o,$(wildcard src/*.c)) $(KERNEL_OBJS)

PG_CPPFLAGS = -I.
PG_CFLAGS = -Wextra -Werror -Wno-unused-parameter
# the primitives know nothing of the server, not even its headers
$(KERNEL_OBJS): override CFLAGS := -std=gnu11 -O3 -g -fPIC -Wall -Wextra -Werror
$(KERNEL_OBJS): override CPPFLAGS := -I.

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
