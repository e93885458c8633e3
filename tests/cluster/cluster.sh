# The start of every test in this folder. To be sourced with the folder of the programs as $1.
# A test that lacks a right or a program ends with code 77, which ctest shows as "Skipped" and never
# counts as passed.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=$(cd "$1" && pwd)
lockstep=$programs/lockstep
worker=$programs/lockstep-worker
. "$here/hosts.sh"
. "$here/slurm.sh"

folder=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-cluster-XXXXXX")
cd "$folder" || exit 1
export XDG_CONFIG_HOME=$folder/config
# mpirun refuses root and more ranks than cores by default.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
failures=0

clean_up() {
  local code=$?
  trap - EXIT
  slurm_down
  hosts_down
  cd /
  [ "$failures" = 0 ] && [ "$code" = 0 ] || { echo "-- files of the failed test --"; tail -n 20 "$folder"/*.log "$folder"/*.err 2> /dev/null; }
  rm -rf "$folder"
  [ "$code" != 0 ] || [ "$failures" = 0 ] || code=1
  exit "$code"
}
trap clean_up EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

skip() { echo "not run: $*"; exit 77; }
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
need() { local why; why=$("$@") || skip "$why"; }

# The fingerprint of the parameters that a record ends with.
digest() { grep -o '"parameters_digest":"[0-9a-f]*"' "$1" | tail -n 1; }
expect_same_parameters() {
  local a b
  a=$(digest "$1")
  b=$(digest "$2")
  if [ -z "$a" ] || [ "$a" != "$b" ]; then fail "$3: '$a' and '$b'"; else echo "ok: $3"; fi
}
# The mean loss of the last epoch of both records, which sums in another order may change in its last digits: each
# gradient differs by a few units in the last place (6e-8), and 16 steps let that grow about a hundredfold.
expect_same_loss() {
  if /usr/bin/env python3 - "$1" "$2" << 'END'
import json, sys
a, b = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
a, b = ([event["train_loss"] for event in events if event["type"] == "epoch"][-1] for events in (a, b))
print(f"losses {a} and {b}")
sys.exit(abs(a - b) > 1e-4 * abs(a))
END
  then echo "ok: $3"; else fail "$3"; fi
}
expect() {
  local what=$1
  shift
  if "$@" > /dev/null 2>&1; then echo "ok: $what"; else fail "$what"; fi
}

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
  local until=$((SECONDS + $1))
  shift
  until "$@" > /dev/null 2>&1; do [ $SECONDS -lt $until ] || return 1; sleep 0.1; done
}
free_port() { /usr/bin/env python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# A short run of the trainer. Shared memory sums in rank order, so runs over it give the same bits however their ranks
# were started; Gloo and MPI sum in another order.
short_run=(fashion --steps=16 --batch=16 --threads=1 --no-validation --no-augment --no-step-records)
four_local_workers() {
  "$lockstep" --store local.db --json train "${short_run[@]}" -n 4 --oversubscribe "$@" \
    > local.jsonl 2> local.err || fail "four local workers"
}
