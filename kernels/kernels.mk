# kernels.mk: the engines' sources that a C compiler takes, and what they and their callers include; set KERNELS_AT first where
# the folder is not kernels.  The CUDA engine's are in cuda/cuda.mk.
KERNELS_AT ?= kernels
KERNEL_SOURCES := $(wildcard $(KERNELS_AT)/*.c $(KERNELS_AT)/cpu/*.c)
KERNEL_HEADERS := $(wildcard $(KERNELS_AT)/*.h $(KERNELS_AT)/common/*.h $(KERNELS_AT)/cpu/*.h $(KERNELS_AT)/cuda/base/*.h)
