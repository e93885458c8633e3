#!/bin/bash
# Whether `lockstep simulate` gives the step time of four hosts: from the phases of one worker and links calibrated with
# two hosts. First all hosts on one switch, then two racks of two hosts with a slow link between them, which no closed
# form knows.
#
#   bench/cluster/simulated_steps.sh BUILD/bin [RATES...] [racks]   needs root and a quiet machine
#                                                                   (default: 1gbit 200mbit racks)
[ $# -gt 1 ] || set -- "$1" 1gbit 200mbit racks
. "$(dirname "$0")/bench_hosts.sh" "$@"
for i in 1 2 3 4; do echo "node$i slots=2"; done > hosts-8.txt
printf 'node1 slots=1\nnode3 slots=1\n' > hosts-across.txt
[ -x "$programs/lockstep-sim" ] || skip "there is no lockstep-sim (libsimgrid-dev)"
uplink=${LOCKSTEP_BENCH_UPLINK:-100mbit}
rack_rate=${LOCKSTEP_BENCH_RACK_RATE:-1gbit}
steps_fashion=${LOCKSTEP_BENCH_STEPS:-60}
steps_resnet=${LOCKSTEP_BENCH_STEPS:-10}
echo "load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) cores"

# train WORKERS BACKEND STEPS RECIPE...: blocking steps of few examples, so that the link decides
train() {
  local workers=$1 backend=$2 steps=$3 launcher=()
  shift 3
  [ "$workers" = 1 ] || launcher=(--launcher ssh-hostfile --hostfile "hosts-$workers.txt" --backend "$backend")
  on_host 1 timeout 300 "$lockstep" --store bench.db --json train "$@" -n "$workers" --steps "$steps" --threads 1 \
    --strategy blocking --no-augment --no-validation --oversubscribe "${launcher[@]}" \
    > "steps-$workers.jsonl" 2> "steps-$workers.err" ||
    fail "training on $workers workers: $(tail -n 3 "steps-$workers.err")"
}

# compared NAME WORKERS BACKEND STEPS RECIPE... -- OPTIONS...: all hosts share the cores of this machine, which
# --machines 1 states.
compared() {
  local name=$1 workers=$2 backend=$3 steps=$4 recipe=()
  shift 4
  while [ "$1" != -- ]; do recipe+=("$1"); shift; done
  shift
  train 1 none 40 "${recipe[@]}"
  "$lockstep" --store bench.db --json runs > runs.json
  "$lockstep" --store bench.db --json simulate --run "$("$python" "$bench/figures.py" last_run runs.json)" \
    --workers "$workers" --machines 1 "$@" > simulated.json || fail "simulation of $name"
  train "$workers" "$backend" "$steps" "${recipe[@]}"
  "$python" "$bench/figures.py" simulated "$name, ${recipe[0]}" simulated.json \
    "$("$python" "$bench/figures.py" step "steps-$workers.jsonl")"
}

# Two bridges with two hosts each, and one shaped link between them. It lets through 20 kB at once at most, since what it
# saves up while the hosts compute would hide a part of every step; no packet may be larger.
into_racks() {
  local switch=${hosts_name}sw end
  for i in 1 2 3 4; do ip -n "${hosts_name}$i" link set e0 gso_max_size 16000; done
  ip -n "$switch" link add br1 type bridge
  ip -n "$switch" link set br1 up
  for i in 3 4; do ip -n "$switch" link set "p$i" master br1; done
  ip -n "$switch" link add up0 type veth peer name up1
  ip -n "$switch" link set up0 master br0 up
  ip -n "$switch" link set up1 master br1 up
  for end in up0 up1; do
    tc -n "$switch" qdisc add dev $end root tbf rate "$uplink" burst 20kb latency 50ms
  done
}

fashion=(fashion --batch 4)
resnet=(cifar-resnet18 --data synthetic --batch 1)
gradients_fashion=615112
gradients_resnet=44695848
racks=no
for rate in "${rates[@]}"; do
  [ "$rate" != racks ] || { racks=yes; continue; }
  hosts_up 4 "$rate"
  export hosts_name hosts_folder
  rm -f bench.db*
  calibrate_device
  collectives 2 gloo hosts-2.txt 17MB > two.json
  compared "one switch of $rate, ring" 4 gloo "$steps_fashion" "${fashion[@]}" -- --algorithm ring
  compared "one switch of $rate, ring" 4 gloo "$steps_resnet" "${resnet[@]}" -- --algorithm ring
  hosts_down
done

[ "$racks" = yes ] || exit 0
rate=$rack_rate
hosts_up 4 "$rate"
into_racks
export hosts_name hosts_folder
rm -f bench.db*
calibrate_device
collectives 2 gloo hosts-across.txt 17MB > across.json
collectives 2 gloo hosts-2.txt 17MB > two.json
for recipe in fashion resnet; do
  declare -n words=$recipe steps=steps_$recipe gradients=gradients_$recipe
  "$python" "$bench/figures.py" racks two.json across.json "$gradients" > racks.xml
  compared "two racks of $rate, $uplink between, ring" 4 gloo "$steps" "${words[@]}" -- \
    --algorithm ring --topology racks.xml
  compared "two racks of $rate, $uplink between, hierarchical" 8 hierarchical "$steps" "${words[@]}" -- \
    --algorithm hierarchical --per-host 2 --inside 5GB/s,5us --topology racks.xml
done
hosts_down
