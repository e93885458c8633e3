#!/bin/bash
# Studies of a foreign command on a real Slurm of 2 nodes: carried out, cancelled, and collected
# after the process was lost. Needs no worker program.
. "$(dirname "$0")/cluster.sh" "$1"
need slurm_possible
slurm_up 2 2 || { fail "slurm"; exit 1; }

# Every task prints its number; the first one prints epochs as a training script does.
cat > train.sh << 'END'
#!/bin/bash
echo "task $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME, setup ${FROM_SETUP:-missing}" >> "$1"
[ "$SLURM_PROCID" = 0 ] || exit 0
for e in 1 2 3; do
  sleep "${EPOCH_SLEEP:-0.1}"
  echo "Epoch $e/3: loss 0.$((9 - e))1, time $((12 / $2)).0$e s"
done
END
chmod +x train.sh
echo 'export FROM_SETUP=sourced' > setup.sh
study=(study --batch 64 --device cpu --launcher slurm --partition cpu --time 5 --setup setup.sh)

# tasks FILE: one line per task
timeout 200 "$lockstep" --store study.db "${study[@]}" --workers 1,2,4 --workers-per-node 2 --name all \
  -- srun "$PWD/train.sh" "$PWD/tasks-{workers}" "{workers}" > study.txt 2> study.err ||
  fail "study --launcher slurm of a command: $(cat study.err)"
expect "one readable script per configuration" test "$(ls study.db.jobs/all/*.sbatch | wc -l)" = 3
expect "one task per worker" test "$(wc -l < tasks-4)" = 4
expect "on two hosts" test "$(grep -o 'on node.' tasks-4 | sort -u | wc -l)" = 2
expect "after the setup of the user" bash -c "! grep -q missing tasks-1 tasks-2 tasks-4"
expect "runs are compared" grep -q "Time and speedup" study.txt
expect "and judged" grep -q "Verdict" study.txt
expect "the report has the time in the queue" grep -q "queue wait" study.txt
expect "the runs are done" test "$("$lockstep" --store study.db runs | grep -c done)" = 3

# A command that starts the workers of a host itself gets one task per host, and the address of the first host, since
# no resolver knows the names of these nodes.
timeout 100 "$lockstep" --store once.db "${study[@]}" --workers 4 --nodes 2 --name once -- \
  srun sh -c 'echo "$0 $1 of $2 on $SLURM_NTASKS tasks; Epoch 1: loss 0.5, time 2.0 s"' \
  '{master_addr}' '{workers_per_node}' '{nodes}' > once.txt 2> once.err || fail "one task per host: $(cat once.err)"
expect "one task per host" bash -c "grep -q '127.0.0.1 2 of 2 on 2 tasks' once.db.jobs/once/*.log"

# What fails is recorded with its last line.
timeout 100 "$lockstep" --store bad.db "${study[@]}" --workers 1 --name bad -- sh -c 'echo no such module; exit 3' \
  > bad.txt 2> bad.err
expect "a failed run ends the study with code 5" test $? = 5
expect "and has its last line" grep -q "exit code 3; its last line: no such module" bad.txt

# So are a setup that ends the job and a job that somebody cancels.
echo 'echo "no module cuda"; exit 3' > ends.sh
timeout 100 "$lockstep" --store ends.db study --batch 64 --device cpu --launcher slurm --partition cpu --setup ends.sh \
  --workers 1 --name ends -- srun true > ends.txt 2> ends.err
expect "a setup that ends the job is named" \
  grep -q -- "--setup ends.sh ended the job before its command began; its last line: no module cuda" ends.txt
timeout 100 "$lockstep" --store stopped.db "${study[@]}" --workers 1 --name stopped -- srun sleep 60 \
  > stopped.txt 2> stopped.err &
pid=$!
wait_for 30 bash -c '[ "$(squeue -h -o %T)" = RUNNING ]'
scancel --user=root
wait $pid
expect "a cancelled job is named as such" grep -q "failed: the job was cancelled (scancel)$" stopped.txt

# Interrupted: the jobs go with the study, and the same command does what is missing.
cut=("$lockstep" --store cut.db "${study[@]}" --workers 1,2 --name cut -- srun "$PWD/train.sh" "$PWD/cut-{workers}" "{workers}")
EPOCH_SLEEP=60 "${cut[@]}" > cut.txt 2> cut.err &
pid=$!
wait_for 30 bash -c '[ -n "$(squeue -h)" ]'
expect "jobs were submitted" test -n "$(squeue -h)"
kill -TERM $pid  # a shell without a terminal starts its background jobs deaf to SIGINT
wait $pid
expect "an interrupted study ends with code 130" test $? = 130
wait_for 30 bash -c '[ -z "$(squeue -h)" ]'
expect "its jobs were cancelled" test -z "$(squeue -h)"
timeout 100 "${cut[@]}" > cut2.txt 2> cut2.err || fail "the cancelled study resumed: $(cat cut2.err)"
expect "the resumed study has both runs" test "$("$lockstep" --store cut.db runs | grep -c done)" = 2

# The login shell is lost: the jobs continue, and the same command collects them.
lost=("$lockstep" --store lost.db "${study[@]}" --workers 1,2 --name lost -- srun "$PWD/train.sh" "$PWD/lost-{workers}" "{workers}")
EPOCH_SLEEP=1 "${lost[@]}" > lost1.txt 2> lost1.err &
pid=$!
wait_for 30 bash -c '[ "$(ls lost.db.jobs/lost/*.job 2> /dev/null | wc -l)" = 2 ]'
kill -9 $pid
wait $pid 2> /dev/null
timeout 100 "${lost[@]}" > lost2.txt 2> lost2.err || fail "the study after a lost process: $(cat lost2.err)"
expect "jobs of the lost process were found" grep -q "submitted earlier are still active" lost2.err
expect "nothing was submitted twice" bash -c "! grep -q ^submitted lost2.err"
expect "both runs are done" test "$("$lockstep" --store lost.db runs | grep -c done)" = 2
