# kernels.mk: the engines that a C compiler takes, as objects for the tests of several folders: $(KERNEL_OBJS), below KERNELS_BUILD,
# which run.sh sets so that they are built once for all of them.  KIND says how: plain, as for the extension, or asan.  Set ROOT
# and BUILD first; KERNEL_CFLAGS stands for any other way, in a KIND of its own.
KERNEL_GOAL := $(.DEFAULT_GOAL)
KERNELS_AT = $(ROOT)/kernels
include $(KERNELS_AT)/kernels.mk
KIND ?= plain
KERNELS_BUILD ?= $(BUILD)/kernels
CFLAGS_plain = -O3 -g -fPIC
CFLAGS_asan = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
KERNEL_CFLAGS ?= $(CFLAGS_$(KIND))
KERNEL_OBJS = $(patsubst $(ROOT)/%.c,$(KERNELS_BUILD)/$(KIND)/%.o,$(KERNEL_SOURCES))

$(KERNELS_BUILD)/$(KIND)/%.o: $(ROOT)/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) -I$(ROOT) $(KERNEL_CFLAGS) -MMD -MP -c $< -o $@
-include $(KERNEL_OBJS:.o=.d)

.PHONY: kernels
kernels: $(KERNEL_OBJS)
# none of these is what a bare make builds
.DEFAULT_GOAL := $(KERNEL_GOAL)
