#!/bin/bash
# mpirun with four ranks, started by a user and by lockstep, over every back end.
. "$(dirname "$0")/cluster.sh" "$1"
command -v mpirun > /dev/null || skip "no mpirun"

four_local_workers
timeout 100 mpirun -np 4 "$worker" train "${short_run[@]}" --record=auto.jsonl 2> auto.err || fail "mpirun"
expect_same_parameters local.jsonl auto.jsonl "mpirun on one host trains as four local workers"
for backend in gloo mpi; do
  [ $backend != mpi ] || [ -e "$programs/lockstep-mpi.so" ] || { echo "not built: mpi"; continue; }
  timeout 100 mpirun -np 4 "$worker" train "${short_run[@]}" --check-ranks --backend=$backend \
    > $backend.jsonl 2> $backend.err || fail "mpirun, $backend"
  expect_same_loss local.jsonl $backend.jsonl "mpirun over $backend trains as four local workers"
  expect "it really was $backend" grep -q "\"backend\":\"$backend\"" $backend.jsonl
  timeout 100 mpirun -np 4 "$worker" train "${short_run[@]}" --check-ranks --backend=$backend --wire=fp16 \
    > $backend-fp16.jsonl 2> $backend-fp16.err || fail "mpirun, $backend, 16 bits"
  expect "gradients travel in 16 bits over $backend" grep -q '"status":"done"' $backend-fp16.jsonl
done
# Runs that do not use MPI do not load it.
expect "the worker itself does not link MPI" bash -c "! ldd '$worker' | grep -q libmpi"

"$lockstep" --store runs.db --json train "${short_run[@]}" -n 4 --launcher mpi --oversubscribe \
  > launched.jsonl 2> launched.err || fail "lockstep train --launcher mpi"
expect_same_parameters local.jsonl launched.jsonl "lockstep train --launcher mpi trains the same"
"$lockstep" --store runs.db runs > runs.txt 2>&1
expect "its run is in the store" grep -q done runs.txt
"$lockstep" train fashion -n 4 --launcher mpi --dry-run > dry.txt
expect "--dry-run shows the command" grep -q "^mpirun -np 4 -x LOCKSTEP_SECRET .*lockstep-worker train fashion" dry.txt
