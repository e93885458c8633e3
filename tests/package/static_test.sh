#!/bin/bash
# The static program in a root that has nothing but it, and with the system calls of Linux 3.10 only.
. "$(dirname "$0")/package.sh" "$1"
need_static
need_program curl
[ "$(id -u)" = 0 ] || skip "chroot needs root"

mkdir root root/tmp
strip -o root/lockstep "$build/bin/lockstep-static"
expect "it is not a dynamic executable" bash -c "! ldd root/lockstep"
expect "it is smaller than 15 MB" test "$(stat -c %s root/lockstep)" -lt 15000000
# SQLite can load extensions when it is told to, and never is.
# The watcher that it carries, in Python, has NVML names of its own; this one only the reader of C++ has.
expect "it does not load the library of GPU counters" \
  bash -c "grep -q powercap root/lockstep && ! grep -q nvmlDeviceGetUtilizationRates root/lockstep"
cp "$sources/examples/studies/e-data-parallel-sweep.csv" root/

inside() { timeout 60 "$build/bin/old_kernel" chroot root /lockstep "$@"; }
table=/e-data-parallel-sweep.csv
expect "--version" inside --version
expect "import" inside import $table --study sweep
expect "report" inside report sweep
expect "report --html" inside report sweep --html /page.html
expect "the page has charts" grep -q "<script" root/page.html
expect "predict" inside predict --from $table --workers 8
expect "advise" inside advise --from $table
expect "audit" inside audit $table
expect "demo" inside demo /demo
expect "completion" inside completion bash
inside train fashion > train.out 2> train.err
expect "train ends with code 3" test $? = 3
expect "and how to get a worker" grep -q "lockstep-build-worker" train.err
inside doctor > doctor.out 2>&1 || fail "doctor: $(cat doctor.out)"

(exec "$build/bin/old_kernel" chroot root /lockstep serve --port 0 --json) > serve.out 2> serve.err &
server=$!
wait_for 20 grep -q url serve.out
port=$(sed 's/.*"port":\([0-9]*\).*/\1/' serve.out)
expect "serve answers a client" curl -sf "http://127.0.0.1:$port/"
expect "serve gives the study" bash -c "curl -sf 'http://127.0.0.1:$port/api/page?study=sweep' | grep -q resnet18"
kill -TERM $server
wait $server
expect "serve ends when it is asked to" test $? = 0

# Studies and runs need a shell to study: outside the empty root, still with the old kernel's calls.
outside() { timeout 60 "$build/bin/old_kernel" root/lockstep --store "$folder/runs.db" "$@"; }
expect "run of a command" outside run --name one -- sh -c 'for e in 1 2 3; do echo "Epoch $e/3: loss 0.5, time 2.0 s"; done'
outside study --name two --workers 1,2 --batch 32 -- \
  sh -c 'for e in 1 2 3; do echo "Epoch $e/3: loss 0.5, time $((4 / $0)).0 s"; done' '{workers}' > study.out 2> study.err ||
  fail "study of a command: $(cat study.err)"
expect "study of a command gives a verdict" grep -q "^Verdict" study.out
