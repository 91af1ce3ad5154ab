# kernels.mk: objects of the engines that a C compiler takes (KERNEL_OBJS), those with what tests in C share (TEST_OBJS), and a
# rule for any other C file of the tree ($(call object,FILES)), for the tests of several folders.  They are below
# KERNELS_BUILD, which run.sh sets so that they are built once for all folders, and of a KIND: plain, as for the extension,
# or asan, tsan, fuzz, gpu.  Set ROOT and BUILD first.
KERNEL_GOAL := $(.DEFAULT_GOAL)
KERNELS_AT = $(ROOT)/kernels
include $(KERNELS_AT)/kernels.mk
KIND ?= plain
KERNELS_BUILD ?= $(BUILD)
CFLAGS_plain = -O3 -g -fPIC
CFLAGS_asan = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS_tsan = -O1 -g -fsanitize=thread
CFLAGS_fuzz = $(CFLAGS_asan) -fsanitize=fuzzer-no-link -Wno-gnu-variable-sized-type-not-at-end
CFLAGS_gpu = -O3 -g -DWITH_CUDA -I$(CUDA_HOME)/include
TEST_CFLAGS = -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) -pthread -I$(ROOT) $(CFLAGS_$(KIND))
AT = $(KERNELS_BUILD)/$(KIND)
object = $(patsubst $(ROOT)/%.c,$(AT)/%.o,$(1))
KERNEL_OBJS = $(call object,$(KERNEL_SOURCES))
TEST_OBJS = $(KERNEL_OBJS) $(patsubst %,$(AT)/test/kernels/%.o,tap table random_table) $(AT)/src/service/protocol.o

$(AT)/%.o: $(ROOT)/%.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) -MMD -MP -c $< -o $@
-include $(shell find $(AT) -name '*.d' 2>/dev/null)

.PHONY: objects
objects: $(TEST_OBJS)
.SECONDARY:
# none of these is what a bare make builds
.DEFAULT_GOAL := $(KERNEL_GOAL)
