#!/bin/bash
# consumer_test.sh BUILD LOCKSTEP: installs the library, builds the project of this folder from the
# installed copy by CMake and by pkg-config, and trains on 1, 2 and 4 ranks by every way to start them.
# All must end with the parameters of one rank with the global batch, to rounding.
set -eu
build=$1
lockstep=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
. "$here/../cluster/slurm.sh"
trap 'set +e; slurm_down; rm -rf "$work"' EXIT
export HOME="$work" OMP_NUM_THREADS=1 LOCKSTEP_TIMEOUT=60
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1

cmake --install "$build" --component library --prefix "$work/prefix" > "$work/install.log"
for file in include/lockstep/lockstep.h lib/liblockstep.so lib/cmake/lockstep/lockstepConfig.cmake \
    lib/pkgconfig/lockstep.pc; do
  test -e "$work/prefix/$file" || { echo "not installed: $file"; exit 1; }
done
# Public headers include the standard library, torch and each other.
if grep -hE '^#include' -r "$work/prefix/include/lockstep" | grep -vE '<(torch/torch\.h|[a-z_0-9]+)>|"lockstep/'; then
  echo "a public header includes something else"
  exit 1
fi

cmake -S "$here" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release \
  ${LOCKSTEP_CXX_LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER="$LOCKSTEP_CXX_LAUNCHER"} \
  > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
app=$work/build/consumer

PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
export PKG_CONFIG_PATH
pkg-config --cflags lockstep > /dev/null
g++ -o "$work/linked-by-pkg-config" "$work/build/CMakeFiles/consumer.dir/main.cpp.o" $(pkg-config --libs lockstep)

# compare NAME: the output in $work/NAME against that of one rank.
compare() {
  paste "$work/alone" "$work/$1" | awk -v name="$1" '
    $1 == "parameter" { n++; d = $2 - $4; if (d < 0) d = -d; if (d > worst) worst = d; if ($3 != "parameter") bad = 1 }
    END { if (bad || n != 195 || worst > 1e-5) { print name ": " n " parameters, off by " worst; exit 1 }
          print name ": parameters within " worst }'
}
run() {
  name=$1
  shift
  "$@" > "$work/$name" 2> "$work/$name.err" || { echo "$name failed"; cat "$work/$name" "$work/$name.err"; exit 1; }
  compare "$name"
}

# by_variables N COMMAND: N ranks with the variables that torchrun sets. Debian's torchrun itself fails with its Python.
by_variables() {
  n=$1
  shift
  for r in $(seq 1 $((n - 1))); do
    RANK=$r WORLD_SIZE=$n LOCAL_RANK=$r LOCAL_WORLD_SIZE=$n MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 10000)) \
      "$@" &
  done
  RANK=0 WORLD_SIZE=$n LOCAL_RANK=0 LOCAL_WORLD_SIZE=$n MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 10000)) "$@"
  wait
}

"$app" 48 > "$work/alone"
run by-pkg-config "$work/linked-by-pkg-config" 48
cd "$work"
for n in 2 4; do
  run "lockstep-run-$n" "$lockstep" run -n $n -- "$app" $((48 / n))
  run "workers-$n" env LOCKSTEP_WORKERS=$n "$app" $((48 / n))
  run "mpirun-$n" mpirun -np $n "$app" $((48 / n))
  run "torchrun-variables-$n" by_variables $n "$app" $((48 / n))
  if [ -e "$work/prefix/lib/lockstep/lockstep-mpi.so" ]; then
    run "mpirun-mpi-$n" mpirun -np $n -x LOCKSTEP_BACKEND=mpi "$app" $((48 / n))
  fi
done

# Two nodes of a real Slurm, where the machine can run one.
if reason=$(slurm_possible); then
  slurm_up 2 2 || { echo "slurm"; exit 1; }
  run srun-2 srun -n 2 "$app" 24
  run srun-4 srun -N 2 -n 4 "$app" 12
else
  echo "not by srun: $reason"
fi

# What lockstep run recorded: phases of all ranks.
"$lockstep" runs show 2 > "$work/shown"
for text in 'input wait' forward backward optimizer 'comm: wait'; do
  grep -q "$text" "$work/shown" || { echo "no $text in:"; cat "$work/shown"; exit 1; }
done

# A study fills in the batch and sets the number of ranks.
"$lockstep" study --name rings --store study.db --workers 1,2 --batch 24,48 -- "$app" {batch} > "$work/study" 2>&1 ||
  { echo "study failed:"; cat "$work/study"; exit 1; }
"$lockstep" runs --store study.db > "$work/runs"
[ "$(grep -c done "$work/runs")" = 4 ] || { echo "not four runs:"; cat "$work/runs" "$work/study"; exit 1; }
"$lockstep" runs show 4 --store study.db > "$work/last"
for text in '480 to train' 'train loss' 'comm: wait'; do
  grep -q "$text" "$work/last" || { echo "no $text in:"; cat "$work/last"; exit 1; }
done
echo done
