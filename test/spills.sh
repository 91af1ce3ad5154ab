#!/bin/bash
# Registers that kernels spill, by architecture: compiles the CUDA engine, prints every kernel that spills, and fails
# if one spills more than spills.txt allows, or if the compiler warns.  Needs nvcc, no GPU; an hour of processor time
# for all architectures.
#   spills.sh [ARCHS]       "all", the default, or compute capabilities: "90 100"
#   spills.sh --log FILE    instead of compiling: what nvcc -Xptxas -v has said
set -eu -o pipefail
cd "$(dirname "$0")/.."
out=build/spills
log=$out/log

# Every object anew, and what the assembler says of its kernels.
compile() {
	mkdir -p "$out"
	rm -rf "$out/cuda"
	printf '%s\n' 'include kernels/cuda/cuda.mk' 'objects: $(CUDA_OBJS)' >"$out/objects.mk"
	make -s -j"${JOBS:-$(nproc)}" --output-sync=target -f "$out/objects.mk" objects CUDA_ARCHS="$1" \
		CUDA_BUILD="$out/cuda" CUDA_HOME=. NVCC="${NVCC:-nvcc} -Xptxas -v" >"$log" 2>&1 || {
		tail -n 20 "$log"
		return 1
	}
}

# "sm_90 68 order_buckets_kernel<true>" for each kernel that spills bytes
spilling() {
	awk -v q="'" '
		/Compiling entry function/ { split($0, part, q); kernel = part[2]; arch = part[4] }
		/bytes spill stores/ && kernel != "" {
			sub(/.*frame, /, "")
			if ($1 > 0)
				print arch, $1, kernel
			kernel = ""
		}' "$log" | c++filt |
		sed -E 's/^([^ ]+ [0-9]+ )void /\1/; s/\((gs_[a-z_]+|unsigned int)\)//g; s/\((\w+|, |\*| )*\)$//' |
		LC_ALL=C sort -u
}

if [ "${1:-}" = --log ]; then log=$2; else compile "${1:-all}"; fi
if grep -E '\b(warning|error)\b' "$log"; then exit 1; fi
spilling | awk '
	function key() { return $1 " " substr($0, length($1 " " $2 " ") + 1) }
	NR == FNR { if ($1 !~ /^#/) allowed[key()] = $2; next }
	{
		more = $2 > allowed[key()] + 0
		failed += more
		print (more ? "not ok " : "ok ") $0 (more ? ", allowed " allowed[key()] + 0 : "")
	}
	END { print "# " failed + 0 " spill more than spills.txt allows"; exit failed != 0 }' test/spills.txt -
