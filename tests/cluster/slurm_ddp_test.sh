#!/bin/bash
# An unchanged PyTorch DDP script on a real Slurm of 2 nodes: 1, 2 and 4 workers and two batches, the study killed in
# between and resumed. Needs no worker program.
. "$(dirname "$0")/cluster.sh" "$1"
need slurm_possible
torch_possible() { /usr/bin/python3 -c 'import torch.distributed' 2> /dev/null || { echo "no PyTorch for /usr/bin/python3"; return 1; }; }
need torch_possible
slurm_up 2 2 || { fail "slurm"; exit 1; }

# The nodes are this host: their ranks meet on loopback.
echo 'export GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1' > setup.sh
script=$here/../../examples/pytorch-ddp/train.py
# PyTorch 1.13 starts no workers under Python 3.11 without -r and -t.
study=("$lockstep" --store ddp.db study --name ddp --workers 1,2,4 --workers-per-node 2 --batch 16,64 --epochs 2
  --device cpu --launcher slurm --partition cpu --time 5 --setup setup.sh --
  srun /usr/bin/python3 -m torch.distributed.run -r 1 -t 1 --nnodes {nodes} --nproc_per_node {workers_per_node}
  --rdzv_backend c10d --rdzv_endpoint {master_addr}:{master_port} "$script"
  --data no-such-folder --examples 768 --batch-size {batch} --epochs {epochs})
done_runs() { "$lockstep" --store ddp.db runs 2> /dev/null | grep -c ' done'; }

"${study[@]}" > killed.txt 2> killed.err &
pid=$!
wait_for 180 bash -c "[ \"\$('$lockstep' --store ddp.db runs 2> /dev/null | grep -c ' done')\" -ge 1 ]"
kill -9 $pid
wait $pid 2> /dev/null
expect "some runs are done when the study is killed, and some are not" test "$(done_runs)" -ge 1 -a "$(done_runs)" -lt 6
timeout 400 "${study[@]}" > study.txt 2> study.err || fail "the study resumed: $(cat study.err; tail -n 3 ddp.db.jobs/ddp/*.log)"
expect "all six runs are done" test "$(done_runs)" = 6
expect "ranks of both nodes trained together" bash -c "grep -l 'world size: 4' ddp.db.jobs/ddp/*.log"
expect "they are compared" grep -q "Time and speedup" study.txt
expect "their phases were measured" grep -q "Where the time goes.*measured" study.txt
expect "and judged" grep -q "Verdict" study.txt
expect "nothing of the watcher stays" bash -c '! ls -d ddp.db.jobs/ddp/*.watch'
