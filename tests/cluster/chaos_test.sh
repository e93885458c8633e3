#!/bin/bash
# Runs of 4 workers on 4 hosts, each of which loses something at a random moment: a worker killed
# (kill -9), a worker stopped (SIGSTOP), or the link of a host (ip link set down). Every run has to
# finish all its epochs, and to leave no process, no shared memory and no half-written file.
#
#   chaos_test.sh PROGRAMS [SEED]        LOCKSTEP_CHAOS_RUNS sets the number of runs (3)
. "$(dirname "$0")/cluster.sh" "$1"
runs=${LOCKSTEP_CHAOS_RUNS:-3}
seed=${2:-$$}
RANDOM=$seed
need hosts_possible
hosts_up 4 1gbit
export hosts_name hosts_folder LOCKSTEP_SSH=$here/namespace-ssh
for i in 1 2 3 4; do echo "node$i slots=1"; done > hosts.txt
memory_before=$(ls /dev/shm)
epochs=2
longest=240
echo "seed $seed"

workers() { pgrep -f "^$worker train .*--checkpoint=$folder/ck$1 " || true; }

# hurt KIND RUN: does it, and prints to which process or host
hurt() {
  local victims victim host
  victims=($(workers "$2"))
  if [ "$1" = link ]; then
    host=$((RANDOM % 4 + 1))
    host_link $host down
    sleep 7
    host_link $host up
    echo "node$host cut off"
  elif [ ${#victims[@]} = 0 ]; then
    echo "no worker found"
  else
    victim=${victims[$((RANDOM % ${#victims[@]}))]}
    if [ "$1" = kill ]; then kill -9 "$victim"; else kill -STOP "$victim"; fi 2> /dev/null
    echo "pid $victim"
  fi
}

for run in $(seq "$runs"); do
  kinds=(kill stop link)
  kind=${kinds[$(((run - 1) % 3))]}
  began=$SECONDS
  timeout $longest "$lockstep" --store chaos.db --json train fashion -n 4 --batch 500 --epochs $epochs \
    --threads 1 --no-augment --no-validation --launcher ssh-hostfile --hostfile hosts.txt --restarts 4 \
    --checkpoint "$folder/ck$run" --checkpoint-every 5 --heartbeat 4 --timeout 20 \
    > run$run.jsonl 2> run$run.err &
  pid=$!
  # One in four while the ranks still look for each other, the others during training.
  if [ $((RANDOM % 4)) != 0 ]; then
    for _ in $(seq 600); do grep -q run_started run$run.jsonl && break; sleep 0.1; done
  fi
  sleep "$((RANDOM % 3)).$((RANDOM % 10))"
  whom=$(hurt $kind $run)
  wait $pid
  code=$?
  done_epochs=$(grep -o '"type":"epoch"' run$run.jsonl | wc -l)
  restarts=$(grep -c '"kind":"restarted"' run$run.jsonl)
  cause=$(grep -o '"message":"[^"]*"' run$run.jsonl | head -n 1)
  echo "run $run ($kind, $whom): exit $code after $((SECONDS - began)) s, $done_epochs epochs," \
    "$restarts restart(s) $cause"
  [ $code = 0 ] || fail "run $run ($kind) ended with $code: $(tail -n 5 run$run.err)"
  [ "$done_epochs" = $epochs ] || fail "run $run ($kind) has $done_epochs epochs instead of $epochs"
  for _ in $(seq 50); do [ -z "$(workers $run)" ] && break; sleep 0.2; done
  left=$(workers $run)
  [ -z "$left" ] || { fail "run $run ($kind) left processes $left"; kill -9 $left; }
  [ -z "$(find . -name '*.tmp')" ] || fail "run $run ($kind) left $(find . -name '*.tmp')"
done
[ "$(ls /dev/shm)" = "$memory_before" ] || fail "shared memory was left behind: $(ls /dev/shm)"
