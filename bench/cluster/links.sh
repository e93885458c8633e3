#!/bin/bash
# All-reduce between hosts whose link is known: how near each back end comes to it, whether the cost
# model t = 2(N-1) alpha + 2(N-1)/N S/B, calibrated with 2 hosts, tells the step time of 4, and when
# summing inside hosts first pays.
#
#   bench/cluster/links.sh BUILD/bin [RATES...]        needs root (network namespaces); default 1gbit 200mbit
bench=$(cd "$(dirname "$0")" && pwd)
. "$bench/../../tests/cluster/cluster.sh" "$1"
shift
rates=("$@")
[ ${#rates[@]} -gt 0 ] || rates=(1gbit 200mbit)
need hosts_possible
export LOCKSTEP_SSH=$here/namespace-ssh OMPI_MCA_plm_rsh_agent=$here/namespace-ssh
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=e0 OMPI_MCA_oob_tcp_if_include=e0

# collectives WORKERS BACKEND HOSTFILE MAX: the calibration, kept in bench.db, as JSON
collectives() {
  local launcher=(--launcher ssh-hostfile)
  [ "$2" != mpi ] || launcher=(--launcher mpi)
  on_host 1 "$lockstep" --store bench.db --json bench collectives --workers "$1" --backend "$2" \
    --max "$4" --seconds 1 "${launcher[@]}" --hostfile "$3" 2> "collectives-$2.err" ||
    fail "collectives over $2: $(tail -n 3 "collectives-$2.err")"
}

# step_time WORKERS: median seconds of a blocking step of few examples, so that the link decides
step_time() {
  on_host 1 "$lockstep" --store bench.db --json train fashion -n "$1" --batch 4 --steps 80 --threads 1 \
    --strategy blocking --no-augment --no-validation --backend tcp --launcher ssh-hostfile \
    --hostfile "hosts-$1.txt" > "steps-$1.jsonl" 2> "steps-$1.err" || fail "training on $1 hosts"
  "$python" "$bench/figures.py" step "steps-$1.jsonl"
}

python=/usr/bin/python3
for n in 2 4; do for i in $(seq $n); do echo "node$i slots=1"; done > hosts-$n.txt; done
printf 'node1 slots=2\nnode2 slots=2\n' > hosts-pairs.txt
for rate in "${rates[@]}"; do
  hosts_up 4 "$rate"
  export hosts_name hosts_folder
  echo "== link $rate"
  for backend in tcp gloo mpi; do
    collectives 4 $backend hosts-4.txt 17MB > $backend.json
    "$python" "$bench/figures.py" busbw $backend "$rate" $backend.json
  done
  # Calibrated with 2 hosts; the model tells the step time of 4.
  collectives 2 tcp hosts-2.txt 5MB > two.json
  "$lockstep" --store bench.db --json bench list > links.json
  "$python" "$bench/figures.py" predict links.json "$(step_time 2)" "$(step_time 4)" \
    "$(grep -o '"parameters":[0-9]*' steps-2.jsonl | head -n 1 | cut -d: -f2)"
  # Two workers on each of two hosts.
  for backend in tcp hierarchical; do collectives 4 $backend hosts-pairs.txt 17MB > pairs-$backend.json; done
  "$python" "$bench/figures.py" pairs pairs-tcp.json pairs-hierarchical.json
  hosts_down
done
