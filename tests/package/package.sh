# The start of every test in this folder. To be sourced with the build folder as $1.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sources=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-package-XXXXXX")
cd "$folder" || exit 1
failures=0

clean_up() {
  local code=$?
  trap - EXIT
  cd /
  rm -rf --one-file-system "$folder"
  [ "$code" != 0 ] || [ "$failures" = 0 ] || code=1
  exit "$code"
}
trap clean_up EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

skip() { echo "not run: $*"; exit 77; }
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
expect() {
  local what=$1
  shift
  if "$@" > /dev/null 2>&1; then echo "ok: $what"; else fail "$what"; fi
}
need_program() { command -v "$1" > /dev/null || skip "no $1"; }
need_static() { [ -x "$build/bin/lockstep-static" ] || skip "lockstep-static was not built (tools/package/static-libraries)"; }
# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
  local until=$((SECONDS + $1))
  shift
  until "$@" > /dev/null 2>&1; do [ $SECONDS -lt $until ] || return 1; sleep 0.1; done
}
