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

# A worker of another run, or with another number of ranks, at the very port of this one.
port=$(/usr/bin/env python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
for rank in 0 1; do
  RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port LOCAL_RANK=$rank LOCAL_WORLD_SIZE=2 \
    LOCKSTEP_SECRET=mine timeout 100 "$worker" train "${short_run[@]}" --backend=tcp \
    --record=pair.jsonl 2> pair-$rank.err &
  pids[$rank]=$!
  if [ $rank = 0 ]; then
    RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 \
      LOCKSTEP_SECRET=old timeout 100 "$worker" train "${short_run[@]}" --timeout=4 2> old.err &
    old=$!
    RANK=1 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port LOCAL_RANK=1 LOCAL_WORLD_SIZE=3 \
      LOCKSTEP_SECRET=mine timeout 100 "$worker" train "${short_run[@]}" --timeout=4 2> other.err &
    other=$!
    sleep 2
  fi
done
expect "rank 0 is not disturbed" wait ${pids[0]}
expect "rank 1 is let in" wait ${pids[1]}
expect "the run ended well" grep -q '"status":"done"' pair.jsonl
wait $old
expect "a worker of an old run is refused" test $? = 5
wait $other
expect "a worker with another number of ranks is refused" test $? = 5
expect "which the first is told" grep -q "secret" old.err
expect "and the second" grep -q "number of ranks" other.err
