#!/bin/bash
# A study of an unchanged PyTorch DDP script on a real Slurm of 2 nodes: 1, 2 and 4 workers, two batches, lost half-way
# and resumed. The ranks are measured from inside on both nodes.
. "$(dirname "$0")/cluster.sh" "$1"
need slurm_possible
/usr/bin/python3 -c 'import torch.distributed' 2> /dev/null || skip "no PyTorch for /usr/bin/python3"
slurm_up 2 2 || { fail "slurm"; exit 1; }
script=$(cd "$here/../../examples/pytorch-ddp" && pwd)/train.py
echo 'export OMP_NUM_THREADS=1' > setup.sh

# No --data: every machine trains on the same generated images. srun starts one task per worker, and the variables that
# PyTorch reads follow from those of Slurm, as the guide shows.
study=("$lockstep" --store study.db study --name ddp --workers 1,2,4 --workers-per-node 2 --batch 32,64 --epochs 2
  --device cpu --launcher slurm --partition cpu --time 10 --setup setup.sh --
  srun bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID exec "$@"' train
  /usr/bin/python3 "$script" --batch-size {batch} --epochs {epochs} --examples 512 --data none)
done_runs() { "$lockstep" --store study.db runs 2> /dev/null | grep -c done; }

timeout 400 "${study[@]}" > first.txt 2> first.err &
pid=$!
wait_for 200 bash -c "[ \"\$('$lockstep' --store study.db runs 2> /dev/null | grep -c done)\" -ge 2 ]" ||
  fail "two runs within 200 s: $(tail -n 3 first.err)"
pkill -9 -P $pid
wait $pid 2> /dev/null
expect "the study was lost before its end" test "$(done_runs)" -lt 6

timeout 400 "${study[@]}" > study.txt 2> study.err || fail "the resumed study: $(tail -n 3 study.err)"
expect "all six runs are done" test "$(done_runs)" = 6
expect "runs are compared" grep -q "Time and speedup: ddp" study.txt
expect "at 4 workers too" bash -c "grep -Eq '^cpu +2 +4 +(32|64) ' study.txt"
expect "a step has its phases" grep -q "Where the time goes: ddp; per step, measured" study.txt
expect "and there is a verdict" grep -q "Verdict" study.txt

# Every rank of the run over two nodes was measured, and the phases of a step add up to it.
"$lockstep" --store study.db report --csv > study.csv 2> csv.err || fail "report --csv: $(cat csv.err)"
if /usr/bin/env python3 - study.csv << 'END'
import csv, sys, collections
values = collections.defaultdict(dict)
for row in csv.DictReader(open(sys.argv[1])):
    values[row["workers"], row["batch_per_worker"]][row["metric"]] = float(row["value"])
assert len(values) == 6, sorted(values)
for key, metrics in values.items():
    parts = sum(metrics[name] for name in ("compute_time", "sync_time", "input_wait_time", "other_time"))
    assert abs(parts - metrics["step_time"]) <= 0.02 * metrics["step_time"], (key, parts, metrics["step_time"])
    assert metrics["sync_time"] > 0 or key[0] == "1", key
END
then echo "ok: phases add up to the step within 2 %"; else fail "phases add up to the step"; fi
