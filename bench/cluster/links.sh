#!/bin/bash
# All-reduce between hosts whose link is known: how near each back end comes to it, whether the cost
# model t = 2(N-1) alpha + 2(N-1)/N S/B, calibrated with 2 hosts, tells the step time of 4 (lockstep
# predict --phases --nodes), and when summing inside hosts first pays.
#
#   bench/cluster/links.sh BUILD/bin [RATES...]        needs root (network namespaces); default 1gbit 200mbit
python=/usr/bin/python3
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

# train HOSTS STEPS RECIPE...: a blocking step of few examples, so that the link decides
train() {
  local hosts=$1 steps=$2 launcher=(--launcher ssh-hostfile --hostfile "hosts-$1.txt" --backend tcp)
  shift 2
  [ "$hosts" != 1 ] || launcher=()
  on_host 1 "$lockstep" --store bench.db --json train "$@" -n "$hosts" --steps "$steps" --threads 1 --strategy blocking \
    --no-augment --no-validation "${launcher[@]}" > "steps-$hosts.jsonl" 2> "steps-$hosts.err" ||
    fail "training on $hosts hosts: $(tail -n 3 "steps-$hosts.err")"
}

# predicted_and_measured STEPS RECIPE...: the step of 4 hosts from one worker's phases and the link of 2 hosts. All
# hosts share the cores of this machine, which the product cannot know: it is told how many times over they are used.
predicted_and_measured() {
  train 1 40 "${@:2}"
  "$lockstep" --store bench.db --json runs > runs.json
  "$lockstep" --store bench.db --json predict --phases "$("$python" "$bench/figures.py" last_run runs.json)" \
    --workers 4 --nodes 4 --contention "$contention" > prediction.json || fail "prediction"
  train 4 "$@"
  "$python" "$bench/figures.py" predict "$2" prediction.json "$("$python" "$bench/figures.py" step steps-4.jsonl)"
}

contention=$("$python" -c "print(max(1, 4 / $(nproc)))")
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
  collectives 2 tcp hosts-2.txt 17MB > two.json
  predicted_and_measured 100 fashion --batch 4
  predicted_and_measured 20 cifar-resnet18 --data synthetic --batch 1
  # Two workers on each of two hosts.
  for backend in tcp hierarchical; do collectives 4 $backend hosts-pairs.txt 17MB > pairs-$backend.json; done
  "$python" "$bench/figures.py" pairs pairs-tcp.json pairs-hierarchical.json
  hosts_down
done
