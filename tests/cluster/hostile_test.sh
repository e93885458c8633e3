#!/bin/bash
# Strangers against every port that a run listens on: random bytes, silence, half a handshake, and
# workers of another run. The run must end with the right parameters.
#
#   hostile_test.sh PROGRAMS        LOCKSTEP_HOSTILE_SECONDS sets the length of the noise (6)
. "$(dirname "$0")/cluster.sh" "$1"
seconds=${LOCKSTEP_HOSTILE_SECONDS:-6}
four_local_workers
for backend in tcp gloo; do
  "$lockstep" --store local.db --json train "${short_run[@]}" -n 4 --oversubscribe --backend $backend \
    > quiet-$backend.jsonl 2> quiet.err || fail "quiet run over $backend"
  # Many steps, so that the noise is heard all the time: run again and again until it is over.
  /usr/bin/env python3 "$here/strangers.py" "$seconds" "$worker" > strangers-$backend.log 2>&1 &
  noise=$!
  rounds=0
  while kill -0 $noise 2> /dev/null; do
    timeout 100 "$lockstep" --store noisy.db --json train "${short_run[@]}" -n 4 --oversubscribe \
      --backend $backend > noisy-$backend.jsonl 2> noisy-$backend.err ||
      { fail "run over $backend among strangers: $(tail -n 3 noisy-$backend.err)"; break; }
    expect_same_parameters quiet-$backend.jsonl noisy-$backend.jsonl "$backend among strangers, run $((++rounds))"
  done
  wait $noise
  cat strangers-$backend.log
  expect "strangers found ports to talk to ($backend)" grep -q "connections: [1-9]" strangers-$backend.log
done

# Rank 0 waits for rank 1 among strangers, workers of another run and of another number of ranks.
port=$(free_port)
# rank RANK SIZE SECRET TIMEOUT ARGUMENTS...
rank() {
  RANK=$1 WORLD_SIZE=$2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port LOCAL_RANK=$1 LOCAL_WORLD_SIZE=$2 \
    LOCKSTEP_SECRET=$3 exec timeout 200 "$worker" train "${short_run[@]}" --backend=tcp --timeout="$4" "${@:5}"
}
(rank 0 2 mine $((seconds + 90)) --record=pair.jsonl) 2> pair-0.err &
first=$!
/usr/bin/env python3 "$here/strangers.py" "$seconds" "$worker" > strangers-pair.log 2>&1
cat strangers-pair.log
expect "strangers found the place to meet" grep -q "connections: [1-9]" strangers-pair.log
(rank 1 2 old 4) 2> old.err &
old=$!
(rank 1 3 mine 4) 2> other.err &
other=$!
wait $old
expect "a worker of an old run is refused" test $? = 5
wait $other
expect "a worker with another number of ranks is refused" test $? = 5
expect "which the first is told" grep -q "secret" old.err
expect "and the second" grep -q "number of ranks" other.err
(rank 1 2 mine 60) 2> pair-1.err
expect "rank 1 is let in" test $? = 0
wait $first
expect "rank 0 was not disturbed" test $? = 0
expect "the run ended well" grep -q '"status":"done"' pair.jsonl
