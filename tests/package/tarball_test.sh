#!/bin/bash
# The tarball with the worker: unpacked, moved, trained with.
. "$(dirname "$0")/package.sh" "$1"
[ -x "$build/bin/lockstep-worker" ] || skip "lockstep-worker was not built"

tarball=$("$sources/tools/package/tarball" "$build" .) || fail "tools/package/tarball"
tar -xzf "$tarball"
name=$(basename "$tarball" .tar.gz)
try() {
  env -i PATH=/usr/bin:/bin timeout 100 "$1/bin/lockstep" --store runs.db train fashion --data synthetic -n 2 \
    --oversubscribe --threads 1 --batch 16 --steps 3 > train.out 2>&1 || fail "train from $1: $(tail -n 3 train.out)"
}
try "$name"
mkdir elsewhere
mv "$name" "elsewhere/a place"
try "elsewhere/a place"
expect "its libraries are its own" bash -c "ldd 'elsewhere/a place/bin/lockstep-worker' | grep -q 'a place/.*libfmt'"
expect "nothing of the build is named in it" bash -c "! grep -rqF '$build' 'elsewhere/a place'"
expect "both runs are kept" test "$("elsewhere/a place/bin/lockstep" --store runs.db runs | grep -c done)" = 2
