#!/bin/bash
# The kernels of training, sums of shared memory and 16-bit floats, compiled for ARM64 and run by an emulator: their own
# tests must pass there. Speed is not tested: an emulator says nothing about it.
#
#   tests/arm64/kernels_test.sh SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
source=$1
work=$2
googletest=/usr/src/googletest/googletest
compiler=aarch64-linux-gnu-g++
for need in "$compiler" qemu-aarch64; do
  command -v "$need" > /dev/null || { echo "skipped: there is no $need"; exit 77; }
done
[ -f "$googletest/src/gtest-all.cc" ] || { echo "skipped: there are no sources of googletest in $googletest"; exit 77; }
mkdir -p "$work"

# Headers of libraries without code of their own are the same on all systems.
flags=(-std=c++20 -O1 -DFMT_HEADER_ONLY -I"$source/src" -I"$googletest/include" -I"$googletest" -idirafter /usr/include)
compile() { "$compiler" "${flags[@]}" "${@:3}" -c "$1" -o "$work/$2.o"; }

compile "$googletest/src/gtest-all.cc" gtest &
gtest=$!
compile "$googletest/src/gtest_main.cc" gtest_main
kernels=$source/src/lockstep/nets/kernels
for name in batch_norm convolve weight_grad; do compile "$kernels/$name.cpp" "$name" -O3 -ffp-contract=fast -fopenmp; done
for name in choose cpu; do compile "$kernels/$name.cpp" "$name"; done
for name in batch_norm_test conv3x3_test; do compile "$kernels/$name.cpp" "$name"; done
wire=$source/src/lockstep/comm/wire
compile "$wire/half_floats.cpp" half_floats -O3
compile "$wire/half_floats_test.cpp" half_floats_test
compile "$source/src/lockstep/base/rng.cpp" rng
compile "$source/src/lockstep/comm/backends/shm/shared_memory.cpp" shared_memory  # compiles; its tests need processes
rm "$work/shared_memory.o"
wait "$gtest"

"$compiler" -static -fopenmp "$work"/*.o -o "$work/kernels" 2> "$work/link.txt" || { cat "$work/link.txt"; exit 1; }
OMP_NUM_THREADS=2 timeout 600 qemu-aarch64 "$work/kernels" --gtest_brief=1 --gtest_filter=-*OfSixteenFloats* | tee "$work/output.txt"
grep -q "PASSED" "$work/output.txt"
! grep -q "SKIPPED" "$work/output.txt"
