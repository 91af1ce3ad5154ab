# service.mk: gpusortd, linked on its own: the server's flags and libraries stay out of it.  With the CUDA engine it sorts
# on GPUs.  That takes nvcc and minutes, so it is built where there are both it and a GPU, or where WITH_CUDA=yes or
# CUDA_ARCHS asks for it, which is an error without nvcc; elsewhere the CPU engine is all that gpusortd has.  `make install`
# installs what was built, since sudo finds no nvcc in its PATH.
SERVICE_BUILD = build/service
BUILT_WITH_CUDA := $(file <$(SERVICE_BUILD)/with-cuda)
WITH_CUDA ?= $(or $(if $(filter install,$(MAKECMDGOALS)),$(BUILT_WITH_CUDA)),\
	$(if $(or $(CUDA_ARCHS),$(and $(shell command -v nvcc),$(wildcard /dev/nvidiactl))),yes,no))

SERVICE_SOURCES := $(filter-out src/service/device_%.c,$(call sources,src/service,*.c))
SERVICE_CFLAGS = -std=gnu11 -O2 -g -Wall -Wextra $(if $(WERROR),-Werror) $(SANITIZE) -I. -pthread -MMD -MP
SERVICE_LIBS = $(SANITIZE) -pthread -lm

ifeq ($(WITH_CUDA),yes)
include kernels/cuda/cuda.mk
# before the extension is compiled
ifneq ($(filter all gpusortd,$(or $(MAKECMDGOALS),all)),)
$(if $(CUDA_WRONG),$(error $(CUDA_WRONG)))
endif
SERVICE_SOURCES += src/service/device_cuda.c
SERVICE_CFLAGS += -I$(CUDA_HOME)/include
SERVICE_LIBS += $(CUDA_LIBS)
SERVICE_CUDA_OBJS = $(CUDA_OBJS)
else
SERVICE_SOURCES += src/service/device_none.c
endif

SERVICE_OBJS = $(patsubst src/service/%.c,$(SERVICE_BUILD)/%.o,$(SERVICE_SOURCES))

$(SERVICE_BUILD)/%.o: src/service/%.c $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(CC) $(SERVICE_CFLAGS) -c $< -o $@

gpusortd: $(SERVICE_OBJS) $(KERNEL_OBJS) $(SERVICE_CUDA_OBJS) $(SERVICE_BUILD)/with-cuda
	$(CC) -pthread -o $@ $(filter %.o,$^) $(SERVICE_LIBS)

# linked anew when the choice changes
$(eval $(call stamp,$(SERVICE_BUILD)/with-cuda,$(WITH_CUDA)))
-include $(SERVICE_OBJS:.o=.d)

all: gpusortd

install: install-gpusortd
install-gpusortd: gpusortd
	$(MKDIR_P) '$(DESTDIR)$(bindir)'
	$(INSTALL_PROGRAM) gpusortd '$(DESTDIR)$(bindir)/gpusortd'

uninstall: uninstall-gpusortd
uninstall-gpusortd:
	rm -f '$(DESTDIR)$(bindir)/gpusortd'

.PHONY: install-gpusortd uninstall-gpusortd
