#!/bin/bash
# A rank that is merely slow, a host that is lost permanently, and a rank that returns after the run continued
# without it.
. "$(dirname "$0")/cluster.sh" "$1"
need hosts_possible
hosts_up 4 1gbit
export hosts_name hosts_folder LOCKSTEP_SSH=$here/namespace-ssh
for i in 1 2 3 4; do echo "node$i slots=1"; done > hosts.txt

# A slow rank: stopped for a moment again and again.
timeout 200 "$lockstep" --store slow.db --json train fashion -n 4 --batch 64 --steps 120 --threads 1 --no-augment \
  --no-validation --launcher ssh-hostfile --hostfile hosts.txt > slow.jsonl 2> slow.err &
run=$!
wait_for 60 grep -q run_started slow.jsonl || fail "slow run: $(tail -n 3 slow.err)"
# Of the processes in its host's network the worker is the one that trains.
slow=$(for pid in $(ip netns pids "${hosts_name}3"); do
  [ "$(readlink "/proc/$pid/exe")" != "$worker" ] || echo "$pid"; done)
while kill -0 $run 2> /dev/null; do
  kill -STOP $slow 2> /dev/null
  sleep 0.1
  kill -CONT $slow 2> /dev/null
  sleep 0.02
done
wait $run
expect "a run with a slow rank ends well" test $? = 0
"$lockstep" --store slow.db --json report > slow-report.json
"$lockstep" --store slow.db report > slow-report.txt
expect "the report names the slow rank" /usr/bin/env python3 - << 'END'
import json
tables = json.load(open("slow-report.json"))["tables"]
rows = [row for table in tables for row in table["rows"] if "slow_rank" in row]
assert rows and rows[0]["slow_rank"] == 2, rows
assert rows[0]["slow_cost_percent"] > 5, rows
END
grep -A 4 "slow ranks" slow-report.txt

# One host lost: the run continues with the workers of the other three, on their hosts.
timeout 200 "$lockstep" --store lost.db --json train fashion -n 4 --batch 96 --steps 60 --threads 1 --no-augment \
  --no-validation --launcher ssh-hostfile --hostfile hosts.txt --restarts 3 --min-workers 3 \
  --checkpoint "$folder/lost" --checkpoint-every 5 --heartbeat 4 --timeout 20 > lost.jsonl 2> lost.err &
run=$!
wait_for 60 grep -q '"type":"checkpoint"' lost.jsonl || fail "no checkpoint: $(tail -n 3 lost.err)"
host_lost 2
wait $run
expect "a run that lost a host ends well" test $? = 0
expect "the record has the rule for the batch" \
  grep -q '"kind":"restarted".*with 3 workers: batch per worker 128 instead of 96, to keep B = 384' lost.jsonl
expect "it needed one restart" test "$(grep -c '"kind":"restarted"' lost.jsonl)" = 1
"$lockstep" --store lost.db runs show 1 > lost.txt
expect "the store has it too" grep -q "to keep B = 384" lost.txt

# Rank 0 is stopped; the run is resumed by others; then it wakes up.
# rank RANK JOB PORT: of two, started by hand
rank() {
  RANK=$1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$3 LOCAL_RANK=$1 LOCAL_WORLD_SIZE=2 LOCKSTEP_SECRET=$2 \
    exec "$worker" train fashion --batch=16 --steps=1500 --threads=1 --no-validation --no-augment --backend=gloo --heartbeat=4 --timeout=20 \
    --checkpoint="$folder/back" --checkpoint-every=4 --resume --record="$2-$1.jsonl"
}
port=$(free_port)
(rank 0 first "$port") 2> first-0.err &
sleeper=$!
(rank 1 first "$port") 2> first-1.err &
other=$!
# Which checkpoints are written depends on the disk: while one is, those that follow may be dropped for newer ones.
wait_for 60 bash -c 'compgen -G "back/checkpoint-*.json"' || fail "no checkpoint: $(tail -n 3 first-0.err)"
kill -STOP $sleeper
wait $other
expect "a rank that waits for a stopped rank 0 ends as after any lost rank" test $? = 5
expect "and names it" grep -q "rank 0" first-1.err
port=$(free_port)
(rank 0 second "$port") 2> second-0.err &
again=$!
(rank 1 second "$port") 2> second-1.err
wait $again
expect "others take the run to its end" test $? = 0
# Without the temporary file that a rank was stopped in: it removes that.
checkpoints() { (cd back && ls -l --time-style=full-iso --ignore='*.tmp') | grep -v ^total; }
checkpoints > before.txt
kill -CONT $sleeper
wait_for 30 bash -c "! kill -0 $sleeper" || fail "the rank that came back stays"
wait $sleeper
expect "the rank that comes back ends with an error" test $? != 0
checkpoints > after.txt
expect "and has written nothing to the checkpoints" cmp before.txt after.txt
cmp -s before.txt after.txt || diff before.txt after.txt
