#!/bin/bash
# The page docs/guide/cluster-without-root.md, command by command, as an ordinary user on a Slurm of 2 nodes: with one
# file in that user's home, the static program where it was built.
. "$(dirname "$0")/cluster.sh" "$1"
need slurm_possible
command -v setpriv > /dev/null || skip "no setpriv"
command -v curl > /dev/null || skip "no curl"
guide=$here/../../docs/guide/cluster-without-root.md
slurm_up 2 2 || { fail "slurm"; exit 1; }

# A home that all nodes see, with the one file and the user's script in it.
home=$folder/home
mkdir -p "$home/bin"
file=$programs/lockstep-static
[ -x "$file" ] || file=$lockstep
cp "$file" "$home/bin/lockstep"
cat > "$home/train.py" << 'END'
import os, sys
workers = int(os.environ["SLURM_NTASKS"])
if os.environ["SLURM_PROCID"] == "0":
    for epoch in 1, 2, 3:
        print(f"Epoch {epoch}/3: loss 0.{9 - epoch}1, time {12 / workers + 0.1 * epoch:.2f} s")
END
chown -R nobody "$home"
chmod 711 "$folder"

# step NAME PATTERN: the block of the guide that has the pattern, with a timeout, as that user.
step() {
  awk -v pattern="$2" '/^```sh$/ { inside = 1; text = ""; next }
    /^```$/ && inside { if (index(text, pattern)) { printf "%s", text; exit }; inside = 0 }
    inside { text = text $0 "\n" }' "$guide" > "$1.sh"
  [ -s "$1.sh" ] || { fail "the guide has no block with $2"; return 1; }
  (cd "$home" && exec setpriv --reuid=nobody --regid=nogroup --clear-groups env -i HOME="$home" SLURM_CONF="$SLURM_CONF" \
    PATH="$home/bin:$PATH" timeout 200 bash -e) < "$1.sh" > "$1.out" 2> "$1.err"
}

step doctor "lockstep doctor" || fail "doctor: $(cat doctor.err)"
expect "doctor finds Slurm" grep -q "^ok    slurm" doctor.out
expect "and says that training needs a worker" grep -q "no lockstep-worker" doctor.out
step setup "env.sh" || fail "setup"
step dry "--dry-run" || fail "dry run: $(cat dry.err)"
expect "the dry run shows a batch script" grep -q "#SBATCH" dry.out
expect "and submits nothing" test -z "$(squeue -h)"
step study "--setup env.sh -- srun" || fail "study: $(cat study.err)"
expect "the study ends with a verdict" grep -q "^Verdict" study.out
expect "one job per configuration, as the user" test "$(stat -c %U "$home"/lockstep.db.jobs/mine/*.sbatch | sort | uniq -c | awk '{ print $1, $2 }')" = "3 nobody"
expect "its runs are watched or read" test "$(cd "$home" && "$lockstep" runs | grep -c done)" = 3
step again "--setup env.sh -- srun" || fail "the same command again: $(cat again.err)"
expect "the same command again submits nothing" test "$(ls "$home"/lockstep.db.jobs/mine/*.sbatch | wc -l)" = 3
step report "lockstep report mine --html" || fail "report: $(cat report.err)"
expect "report and advice agree on a count" grep -q "speedup" report.out
expect "the page is written" grep -q "<html" "$home/mine.html"

# The page through a forwarded port is a client on the loopback address of the login node.
port=$(free_port)
(cd "$home" && exec setpriv --reuid=nobody --regid=nogroup --clear-groups env -i HOME="$home" PATH="$PATH" \
  "$home/bin/lockstep" serve --port "$port") > serve.out 2> serve.err &
server=$!
wait_for 20 curl -sf "http://localhost:$port/" -o page.html
expect "the page is served" grep -q "<html" page.html
kill -TERM $server
wait $server
expect "and the server ends" test $? = 0
