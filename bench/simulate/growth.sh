#!/bin/bash
# Time and memory of `lockstep simulate` against the number of workers.
#
#   bench/simulate/growth.sh BUILD/bin
set -eu
lockstep=$1/lockstep
step="--compute 120ms --gradients 100MB --batch 64 --per-host 8 --jitter 3%"

# measured NAME WORKERS OPTIONS...
measured() {
  local name=$1 workers=$2
  shift 2
  /usr/bin/time -f "$name, $workers workers: %e s, %M kB" "$lockstep" simulate $step --workers "$workers" --json "$@" \
    2>&1 > /dev/null | tail -n 1
}

for workers in 64 256 1024 4096 16384; do measured "star, counted" $workers; done
for workers in 64 256 1024 4096 16384; do
  measured "fat tree 4:1, ring" $workers --topology fat-tree:2 --uplinks 4 --algorithm ring
done
for workers in 64 256 1024 4096 16384; do measured "fat tree 4:1, auto" $workers --topology fat-tree:2 --uplinks 4; done
