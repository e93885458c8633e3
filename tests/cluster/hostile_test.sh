#!/bin/bash
# Unauthenticated peers at every port that a run listens on: random bytes, silence, half a handshake, and workers of
# another run. They must not change a result. They must not delay ranks at the coordinator; over Gloo they may keep a
# start from succeeding, and the run then ends with code 5 (docs/guide/cluster.md, "Who may connect").
#
#   hostile_test.sh PROGRAMS        LOCKSTEP_HOSTILE_SECONDS sets the length of the noise (6)
. "$(dirname "$0")/cluster.sh" "$1"
seconds=${LOCKSTEP_HOSTILE_SECONDS:-6}
peers() { /usr/bin/env python3 "$here/unauthenticated_peers.py" "$seconds" "$worker"; }
four_local_workers
# Ranks that share memory, and meet at the coordinator only.
export LOCAL_WORLD_SIZE=4 WORLD_SIZE=4 MASTER_ADDR=127.0.0.1
four_ranks() {
  local rank pids=() code=0
  MASTER_PORT=$(free_port)
  export MASTER_PORT
  for rank in 0 1 2 3; do
    RANK=$rank LOCAL_RANK=$rank LOCKSTEP_SECRET=noisy timeout 100 "$worker" train "${short_run[@]}" --oversubscribe \
      "$@" --record="noisy-$rank.jsonl" 2> "noisy-$rank.err" &
    pids+=($!)
  done
  for rank in 0 1 2 3; do wait "${pids[$rank]}" || code=$?; done
  return $code
}
for backend in shm gloo; do
  "$lockstep" --store local.db --json train "${short_run[@]}" -n 4 --oversubscribe --backend $backend \
    > quiet-$backend.jsonl 2> quiet.err || fail "quiet run over $backend"
  peers > peers-$backend.log 2>&1 &
  noise=$!
  rounds=0
  succeeded=0
  while kill -0 $noise 2> /dev/null; do
    four_ranks --backend=$backend --timeout=30
    code=$?
    rounds=$((rounds + 1))
    if [ $code = 0 ]; then
      succeeded=$((succeeded + 1))
      expect_same_parameters quiet-$backend.jsonl noisy-0.jsonl "$backend with unauthenticated peers, run $rounds"
    elif [ $backend = shm ] || [ $code != 5 ]; then
      fail "run over $backend with unauthenticated peers: code $code, $(tail -n 3 noisy-0.err)"
    fi
  done
  wait $noise
  cat peers-$backend.log
  echo "$backend: $succeeded of $rounds runs succeeded"
  expect "the peers found ports to connect to ($backend)" grep -q "connections: [1-9]" peers-$backend.log
done
unset LOCAL_WORLD_SIZE WORLD_SIZE MASTER_ADDR MASTER_PORT

# Rank 0 waits for rank 1 among unauthenticated peers, workers of another run and of another number of ranks.
port=$(free_port)
# rank RANK SIZE SECRET TIMEOUT ARGUMENTS...
rank() {
  RANK=$1 WORLD_SIZE=$2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port LOCAL_RANK=$1 LOCAL_WORLD_SIZE=$2 \
    LOCKSTEP_SECRET=$3 exec timeout 200 "$worker" train "${short_run[@]}" --backend=gloo --timeout="$4" "${@:5}"
}
(rank 0 2 mine $((seconds + 90)) --record=pair.jsonl) 2> pair-0.err &
first=$!
peers > peers-pair.log 2>&1
cat peers-pair.log
expect "the peers found the coordinator" grep -q "connections: [1-9]" peers-pair.log
(rank 1 2 old 4) 2> old.err &
old=$!
(rank 1 3 mine 4) 2> other.err &
other=$!
wait $old
expect "a worker of an old run is refused" test $? = 5
wait $other
expect "a worker with another number of ranks is refused" test $? = 5
expect "the first is told the reason" grep -q "secret" old.err
expect "and the second" grep -q "number of ranks" other.err
(rank 1 2 mine 60) 2> pair-1.err
expect "rank 1 is accepted" test $? = 0
wait $first
expect "rank 0 was not disturbed" test $? = 0
expect "the run ended well" grep -q '"status":"done"' pair.jsonl
