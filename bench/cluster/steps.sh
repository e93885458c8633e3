#!/bin/bash
# Whether the cost model t = 2(N-1) alpha + 2(N-1)/N S/B, calibrated with 2 hosts, predicts the step time of 4: as
# `lockstep predict --phases RUN --workers 4 --nodes 4` has it, from the phases of one worker, and as measured.
#
#   bench/cluster/steps.sh BUILD/bin [RATES...]        needs root; LOCKSTEP_BENCH_REPEATS times (1)
. "$(dirname "$0")/bench_hosts.sh" "$@"

# train HOSTS STEPS RECIPE...: a blocking step of few examples, so that the link decides
train() {
  local hosts=$1 steps=$2 launcher=(--launcher ssh-hostfile --hostfile "hosts-$1.txt" --backend gloo)
  shift 2
  [ "$hosts" != 1 ] || launcher=()
  on_host 1 "$lockstep" --store bench.db --json train "$@" -n "$hosts" --steps "$steps" --threads 1 --strategy blocking \
    --no-augment --no-validation "${launcher[@]}" > "steps-$hosts.jsonl" 2> "steps-$hosts.err" ||
    fail "training on $hosts hosts: $(tail -n 3 "steps-$hosts.err")"
}

# predicted_and_measured STEPS RECIPE...: all hosts share the cores of this machine, which --machines 1 states.
predicted_and_measured() {
  local name="$2, ${*: -2}" measured
  train 1 40 "${@:2}"
  "$lockstep" --store bench.db --json runs > runs.json
  "$lockstep" --store bench.db --json predict --phases "$("$python" "$bench/figures.py" last_run runs.json)" \
    --workers 4 --nodes 4 --machines 1 > prediction.json || fail "prediction"
  train 4 "$@"
  measured=$("$python" "$bench/figures.py" step steps-4.jsonl)
  "$python" "$bench/figures.py" predict "$name, from phases" prediction.json "$measured"
}

for rate in "${rates[@]}"; do
  hosts_up 4 "$rate"
  export hosts_name hosts_folder
  for repeat in $(seq "${LOCKSTEP_BENCH_REPEATS:-1}"); do
    echo "== link $rate, $repeat"
    rm -f bench.db*
    calibrate_device
    collectives 2 gloo hosts-2.txt 17MB > two.json
    predicted_and_measured 60 fashion --batch 4
    predicted_and_measured 60 fashion --batch 128
    predicted_and_measured 12 cifar-resnet18 --data synthetic --batch 4
    predicted_and_measured 6 cifar-resnet18 --data synthetic --batch 128
  done
  hosts_down
done
