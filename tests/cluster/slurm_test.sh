#!/bin/bash
# A real Slurm of 2 nodes: srun by a user, lockstep train --launcher slurm, and studies that are
# carried out, cancelled, and resumed.
. "$(dirname "$0")/cluster.sh" "$1"
need slurm_possible
slurm_up 2 2 || { fail "slurm"; exit 1; }

four_local_workers
timeout 120 srun -N 2 -n 4 "$worker" train "${short_run[@]}" --record=srun.jsonl 2> srun.err ||
  fail "srun by hand"
expect_same_parameters local.jsonl srun.jsonl "4 tasks on 2 nodes of Slurm train as 4 local workers"
timeout 120 srun -N 2 -n 4 "$worker" train "${short_run[@]}" --backend=gloo > gloo.jsonl 2> gloo.err ||
  fail "srun over gloo"
expect_same_loss local.jsonl gloo.jsonl "also over gloo"

# A program that uses the library, started by srun and by itself: the same bits.
LOCKSTEP_WORKERS=4 timeout 120 "$programs/training_program" steps=20 > library-local.txt 2> library-local.err ||
  fail "a program of the library: $(cat library-local.err)"
timeout 120 srun -N 2 -n 4 "$programs/training_program" steps=20 > library-srun.txt 2> library-srun.err ||
  fail "a program of the library under srun: $(cat library-srun.err)"
expect "a program of the library trains under srun as by itself" diff library-local.txt library-srun.txt

timeout 120 "$lockstep" --store runs.db --json train "${short_run[@]}" -n 4 --launcher slurm --nodes 2 \
  --partition cpu --time 5 > launched.jsonl 2> launched.err || fail "lockstep train --launcher slurm"
expect_same_parameters local.jsonl launched.jsonl "lockstep train --launcher slurm trains the same"

# What Slurm refuses, or would leave in its queue forever, is reported in one sentence.
# refused CODE WORDS OPTIONS...
refused() {
  local code=$1 words=$2
  shift 2
  timeout 60 "$lockstep" --store refused.db train "${short_run[@]}" --launcher slurm "$@" > refused.txt 2> refused.err
  expect "$* ends with code $code" test $? = "$code"
  expect "and prints why and what to do" bash -c "grep -q '$words' refused.err && grep -q ^hint: refused.err &&
    [ \$(wc -l < refused.err) = 2 ]"
}
refused 2 "invalid partition specified: nope" -n 2 --partition nope
refused 2 "Invalid --time" -n 2 --time soon
refused 2 "wait in the queue forever" -n 2 --time 10:00:00
refused 2 "wait in the queue forever" -n 9 --nodes 9
refused 2 "Invalid generic resource" -n 2 --gres "gpu:{workers}"
timeout 60 "$lockstep" --store refused.db study fashion --workers 1,2 --batch 16 --launcher slurm --time 10:00:00 \
  > refused.txt 2> refused.err
expect "a study that Slurm would never start is an error of usage" test $? = 2
for _ in $(seq 50); do [ -z "$(squeue -h)" ] && break; sleep 0.2; done
expect "and nothing of all that stays in the queue" test -z "$(squeue -h)"
# Started without PMIx.
timeout 60 srun -n 2 "$worker" train "${short_run[@]}" --backend=mpi > nopmix.jsonl 2> nopmix.err
expect "srun without pmix names the option that MPI needs" grep -q -- "--mpi=pmix" nopmix.err

# No task plug-in binds the processes of this Slurm to what a job was given.
expect "a job of one CPU uses one core" bash -c "srun -n 1 -c 1 '$lockstep' doctor --json | grep -q '\"1 of .* usable\|\"1 usable'"

study=(study fashion --batch 16 --no-augment --launcher slurm --partition cpu --time 5)
timeout 200 "$lockstep" --store study.db "${study[@]}" --workers 1,2,4 --steps 8 --name all > study.txt \
  2> study.err || fail "study --launcher slurm: $(cat study.err)"
expect "the study has a run of 4 workers" bash -c "'$lockstep' --store study.db runs | grep -q ' 4 '"
expect "one readable script per configuration" \
  test "$(ls study.db.jobs/all/*.sbatch | wc -l)" = 3
expect "the report has the time in the queue" grep -q "queue wait" study.txt

# Interrupted: the jobs are cancelled with the study, and the same command does what is missing.
cut=("$lockstep" --store cut.db "${study[@]}" --workers 1,2 --steps 600 --name cut)
"${cut[@]}" > cut.txt 2> cut.err &
pid=$!
for _ in $(seq 100); do [ -n "$(squeue -h)" ] && break; sleep 0.2; done
expect "jobs were submitted" test -n "$(squeue -h)"
kill -TERM $pid  # a shell without a terminal lets its background jobs ignore SIGINT
wait $pid
expect "an interrupted study ends with code 130" test $? = 130
for _ in $(seq 100); do [ -z "$(squeue -h)" ] && break; sleep 0.2; done
expect "its jobs were cancelled" test -z "$(squeue -h)"
timeout 200 "${cut[@]}" > cut2.txt 2> cut2.err || fail "the cancelled study resumed: $(cat cut2.err)"
expect "the resumed study has both runs" test "$("$lockstep" --store cut.db runs | grep -c done)" = 2

# The login shell is lost: the jobs continue, and the same command collects them.
"$lockstep" --store lost.db "${study[@]}" --workers 1,2 --steps 8 --name lost > lost1.txt 2> lost1.err &
pid=$!
for _ in $(seq 100); do [ "$(ls lost.db.jobs/lost/*.job 2> /dev/null | wc -l)" = 2 ] && break; sleep 0.1; done
kill -9 $pid
wait $pid 2> /dev/null
timeout 200 "$lockstep" --store lost.db "${study[@]}" --workers 1,2 --steps 8 --name lost > lost2.txt \
  2> lost2.err || fail "the resumed study: $(cat lost2.err)"
expect "jobs of the lost process were found" grep -q "submitted earlier are still active" lost2.err
expect "nothing was submitted twice" bash -c "! grep -q ^submitted lost2.err"
