#!/bin/bash
# All-reduce between hosts whose link is known: how near each back end comes to it, and whether the
# cost model t = alpha + 2(N-1)/N S/B, calibrated with 2 hosts, tells the step time of 4.
#
#   bench/cluster/links.sh BUILD/bin [RATES...]        needs root (network namespaces); default 1gbit 200mbit
. "$(dirname "$0")/../../tests/cluster/cluster.sh" "$1"
shift
rates=("$@")
[ ${#rates[@]} -gt 0 ] || rates=(1gbit 200mbit)
need hosts_possible
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=e0 OMPI_MCA_oob_tcp_if_include=e0

# all_reduce N BACKEND ARGUMENTS...: the table of rank 0
all_reduce() {
  local n=$1 backend=$2
  shift 2
  if [ "$backend" = mpi ]; then
    local list=node1 i
    for i in $(seq 2 "$n"); do list=$list,node$i; done
    on_host 1 mpirun --mca plm_rsh_agent "$here/namespace-ssh" --host $list -np "$n" \
      -x LOCKSTEP_SECRET=bench -x LOCKSTEP_RENDEZVOUS=node1 "$worker" all-reduce --backend mpi "$@" 2> mpi.err
    return
  fi
  local rank
  for rank in $(seq 0 $((n - 1))); do
    LOCKSTEP_SECRET=bench LOCKSTEP_RENDEZVOUS=node1 LOCKSTEP_RANK=$rank LOCKSTEP_WORLD_SIZE=$n \
      LOCKSTEP_LOCAL_RANK=0 LOCKSTEP_LOCAL_SIZE=1 LOCKSTEP_NODES=$n \
      on_host $((rank + 1)) "$worker" all-reduce --backend "$backend" "$@" > out$rank.txt 2> out$rank.err &
  done
  wait
  cat out0.txt
}

# step_time N: median seconds of a blocking step of few examples, so that the link decides
step_time() {
  local n=$1 i
  for i in $(seq "$n"); do echo "node$i"; done > hosts-$n.txt
  LOCKSTEP_SSH=$here/namespace-ssh "$lockstep" --store bench.db --json train fashion -n "$n" --batch 4 \
    --steps 60 --threads 1 --strategy blocking --no-augment --no-validation --launcher ssh-hostfile \
    --hostfile hosts-$n.txt > steps-$n.jsonl 2> steps-$n.err
  /usr/bin/env python3 - steps-$n.jsonl << 'END'
import json, statistics, sys
times = {}
for line in open(sys.argv[1]):
    event = json.loads(line)
    if event["type"] != "steps":
        continue
    columns = event["columns"]
    for step, seconds in zip(columns["step"], columns["total_s"]):
        times.setdefault(step, []).append(seconds)
print(statistics.median(max(times[step]) for step in times if step >= 10))
END
}

for rate in "${rates[@]}"; do
  hosts_up 4 "$rate"
  export hosts_name hosts_folder
  echo "== link $rate"
  for backend in tcp gloo mpi; do
    [ $backend != mpi ] || [ -e "$programs/lockstep-mpi.so" ] || continue
    all_reduce 4 $backend --sizes 10MB,40MB --repeat 4 | sed "s/^/$backend  /"
  done
  # Calibrated with 2 hosts at sizes around that of the network's gradients.
  all_reduce 2 tcp --sizes 100kB,250kB,600kB,1MB,4MB --repeat 10 > fit2.txt
  cat fit2.txt
  t2=$(step_time 2)
  t4=$(step_time 4)
  parameters=$(grep -o '"parameters":[0-9]*' steps-2.jsonl | head -n 1 | cut -d: -f2)
  grep -o 'alpha [0-9.]* us, B [0-9.e+-]* GB/s' fit2.txt | /usr/bin/env python3 -c "
words = input().split()
alpha, rate = float(words[1]) * 1e-6, float(words[4]) * 1e9
cost = lambda n: alpha + 2 * (n - 1) / n * 4 * $parameters / rate
t2, t4 = $t2, $t4
predicted = t2 - cost(2) + cost(4)
print(f'step time: 2 hosts {t2*1e3:.2f} ms; 4 hosts predicted {predicted*1e3:.2f} ms, '
      f'measured {t4*1e3:.2f} ms ({(predicted/t4-1)*100:+.1f} %)')"
  hosts_down
done
