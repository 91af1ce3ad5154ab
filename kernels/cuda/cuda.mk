# cuda.mk: the CUDA engine as objects in $(CUDA_BUILD); include it and link $(CUDA_OBJS) with $(CUDA_LIBS).
#   CUDA_ROOT    the folder of the sources, default kernels
#   CUDA_ARCHS   "90", "all" that nvcc knows, or a list of compute capabilities; the highest also as PTX
#   TUNING       for tests: the row of the tuning tables that the code is compiled by, 75, 80, 86, 90, 100 or 120,
#                whatever the architecture (cuda/tuning/)
#   CUDA_VIRTUAL for tests: the code is what the compiler makes of this capability's PTX, as on a GPU without newer instructions
NVCC ?= nvcc
CUDA_ROOT ?= kernels
CUDA_BUILD ?= build/cuda
CUDA_ARCHS ?= 90

# The assemblers before CUDA 12.3 know no accesses of 128 bits; sm_100 and sm_120 came with 12.8
CUDA_LEAST = 12.3
CUDA_RELEASE := $(shell $(NVCC) --version 2>/dev/null | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p')
CUDA_NEW_ENOUGH := $(shell printf '%s\n' $(CUDA_LEAST) $(CUDA_RELEASE) | sort -CV && echo yes)
CUDA_WRONG = $(strip $(if $(CUDA_RELEASE),$(if $(CUDA_NEW_ENOUGH),,$(NVCC) is of CUDA $(CUDA_RELEASE): gpusort needs $(CUDA_LEAST) or later),\
	$(NVCC) was not found: install the CUDA toolkit, $(CUDA_LEAST) or later, or set NVCC))

CUDA_KNOWN := $(patsubst compute_%,%,$(if $(filter all,$(CUDA_ARCHS)),$(shell $(NVCC) --list-gpu-arch 2>/dev/null)))
CUDA_ARCH_LIST := $(if $(filter all,$(CUDA_ARCHS)),$(filter $(CUDA_KNOWN),75 80 86 89 90 100 120),$(CUDA_ARCHS))
CUDA_GENCODE := $(foreach a,$(CUDA_ARCH_LIST),-gencode=arch=compute_$(or $(CUDA_VIRTUAL),$(a)),code=sm_$(a))
ifneq ($(CUDA_PTX),no)
CUDA_GENCODE += -gencode=arch=compute_$(lastword $(CUDA_ARCH_LIST)),code=compute_$(lastword $(CUDA_ARCH_LIST))
endif
CUDA_FLAGS ?= -O3 -std=c++17 $(CUDA_GENCODE) $(if $(TUNING),-DGS_TUNING=$(TUNING)) -Xcompiler -fPIC -Xcompiler -Wall
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(shell command -v $(NVCC)))
CUDA_LIBS = -L$(CUDA_HOME)/lib64 -lcudart_static -lstdc++ -ldl -lrt -lpthread -lm

include $(CUDA_ROOT)/base.mk
CUDA_SOURCES := $(call sources,$(CUDA_ROOT)/cuda,*.cu)
CUDA_OBJS := $(patsubst $(CUDA_ROOT)/cuda/%.cu,$(CUDA_BUILD)/%.o,$(CUDA_SOURCES))
# what a compilation has read is noted beside its object
CUDA_NOTES = -MMD -MP -MF $(@:.o=.d)

$(CUDA_BUILD)/%.o: $(CUDA_ROOT)/cuda/%.cu
	$(if $(CUDA_WRONG),$(error $(CUDA_WRONG)))
	@mkdir -p $(@D)
	$(NVCC) $(CUDA_FLAGS) $(CUDA_NOTES) -c $< -o $@

# none of these targets is to be the one that a bare make builds
CUDA_GOAL := $(.DEFAULT_GOAL)
-include $(CUDA_OBJS:.o=.d)
.DEFAULT_GOAL := $(CUDA_GOAL)
