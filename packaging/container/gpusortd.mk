# gpusortd.mk: gpusortd alone, without a server's headers; from the folder of the sources, make -f packaging/container/gpusortd.mk WITH_CUDA=yes
CC = gcc
CFLAGS = -std=gnu11 -O3 -g -fPIC -Wall -Wextra
CPPFLAGS = -I.
include kernels/kernels.mk
KERNEL_OBJS = $(KERNEL_SOURCES:.c=.o)
.DEFAULT_GOAL = gpusortd
include src/service/service.mk
