#!/bin/bash
# Whether the cost model t = 2(N-1) alpha + 2(N-1)/N S/B, calibrated with 2 hosts, predicts the step time of 4: as
# `lockstep predict --phases RUN --workers 4 --nodes 4` has it, from the phases of one worker and of two, and as measured.
#
#   bench/cluster/steps.sh BUILD/bin [RATES...]        needs root and a quiet machine
#
# LOCKSTEP_BENCH_REPEATS times (1); LOCKSTEP_BENCH_CASES: some of fashion-4 fashion-128 resnet-4 resnet-128, for slices
# of a few minutes; LOCKSTEP_BENCH_KEEP: a folder for the runs, which predictions can be repeated with.
. "$(dirname "$0")/bench_hosts.sh" "$@"
cases=${LOCKSTEP_BENCH_CASES:-fashion-4 fashion-128 resnet-4 resnet-128}

# train HOSTS STEPS RECIPE...: a blocking step of few examples, so that the link decides
train() {
  local hosts=$1 steps=$2 launcher=(--launcher ssh-hostfile --hostfile "hosts-$1.txt" --backend gloo)
  shift 2
  [ "$hosts" != 1 ] || launcher=()
  on_host 1 "$lockstep" --store bench.db --json train "$@" -n "$hosts" --steps "$steps" --threads 1 --strategy blocking \
    --no-augment --no-validation "${launcher[@]}" > "steps-$hosts.jsonl" 2> "steps-$hosts.err" ||
    fail "training on $hosts hosts: $(tail -n 3 "steps-$hosts.err")"
  "$lockstep" --store bench.db --json runs > runs.json
  last_run=$("$python" "$bench/figures.py" last_run runs.json)
}

# predicted_and_measured NAME STEPS_OF_ONE STEPS RECIPE...: all hosts share the cores of this machine (--machines 1).
predicted_and_measured() {
  local name=$1 one=$2 steps=$3 from runs measured
  shift 3
  train 1 "$one" "$@"
  runs=("$last_run")
  train 2 "$steps" "$@"
  runs+=("$last_run")
  train 4 "$steps" "$@"
  measured=$("$python" "$bench/figures.py" step steps-4.jsonl)
  for from in 1 2; do
    "$lockstep" --store bench.db --json predict --phases "${runs[from - 1]}" --workers 4 --nodes 4 --machines 1 \
      > prediction.json || fail "prediction of $name from $from"
    "$python" "$bench/figures.py" predict "$name from $from" prediction.json "$measured"
  done
}

one_case() {
  case $1 in
    fashion-4) predicted_and_measured "$1" 60 100 fashion --batch 4 ;;
    fashion-128) predicted_and_measured "$1" 60 60 fashion --batch 128 ;;
    resnet-4) predicted_and_measured "$1" 50 12 cifar-resnet18 --data synthetic --batch 4 ;;
    resnet-128) predicted_and_measured "$1" 12 6 cifar-resnet18 --data synthetic --batch 128 ;;
    *) fail "no case $1" ;;
  esac
}

for rate in "${rates[@]}"; do
  hosts_up 4 "$rate"
  export hosts_name hosts_folder
  for repeat in $(seq "${LOCKSTEP_BENCH_REPEATS:-1}"); do
    echo "== link $rate, $repeat"
    rm -f bench.db*
    calibrate_device
    collectives 2 gloo hosts-2.txt 17MB > two.json
    for each in $cases; do one_case "$each"; done
    [ -z "${LOCKSTEP_BENCH_KEEP:-}" ] || {
      mkdir -p "$LOCKSTEP_BENCH_KEEP"
      cp bench.db "$LOCKSTEP_BENCH_KEEP/$rate-$(date +%s).db"
    }
  done
  hosts_down
done
