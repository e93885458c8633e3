#!/bin/bash
# mpirun with four ranks, started by a user and by lockstep, over every back end.
. "$(dirname "$0")/cluster.sh" "$1"
command -v mpirun > /dev/null || skip "no mpirun"

four_local_workers
for backend in auto tcp; do
  timeout 100 mpirun -np 4 "$worker" train "${short_run[@]}" --backend=$backend \
    --record=$backend.jsonl 2> $backend.err || fail "mpirun, $backend"
  expect_same_parameters local.jsonl $backend.jsonl "mpirun over $backend trains as four local workers"
done
# Gloo and MPI add up in another order; all ranks must agree, which the run itself checks at its end.
for backend in gloo mpi; do
  [ $backend != mpi ] || [ -e "$programs/lockstep-mpi.so" ] || { echo "not built: mpi"; continue; }
  timeout 100 mpirun -np 4 "$worker" train "${short_run[@]}" --check-ranks --backend=$backend \
    > $backend.jsonl 2> $backend.err || fail "mpirun, $backend"
  expect "mpirun over $backend ends well" grep -q '"status":"done"' $backend.jsonl
  expect "it really was $backend" grep -q "\"backend\":\"$backend\"" $backend.jsonl
done
# Runs that do not use MPI must not load it.
expect "the worker itself needs no MPI" bash -c "! ldd '$worker' | grep -q libmpi"

"$lockstep" --store runs.db --json train "${short_run[@]}" -n 4 --launcher mpi --oversubscribe \
  > launched.jsonl 2> launched.err || fail "lockstep train --launcher mpi"
expect_same_parameters local.jsonl launched.jsonl "lockstep train --launcher mpi trains the same"
"$lockstep" --store runs.db runs > runs.txt 2>&1
expect "its run is in the store" grep -q done runs.txt
"$lockstep" train fashion -n 4 --launcher mpi --dry-run > dry.txt
expect "--dry-run shows the command" grep -q "^mpirun -np 4 -x LOCKSTEP_SECRET .*lockstep-worker train fashion" dry.txt
