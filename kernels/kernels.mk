# kernels.mk: the engines' sources that a C compiler takes, and what they and their callers include; set KERNELS_AT first where
# the folder is not kernels.  The CUDA engine's are in cuda/cuda.mk.
KERNELS_AT ?= kernels
include $(KERNELS_AT)/base.mk
KERNEL_SOURCES := $(call sources,$(KERNELS_AT),*.c)
KERNEL_HEADERS := $(wildcard $(KERNELS_AT)/*.h $(KERNELS_AT)/common/*.h $(KERNELS_AT)/cpu/*.h $(KERNELS_AT)/cuda/base/*.h)
