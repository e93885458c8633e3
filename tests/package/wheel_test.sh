#!/bin/bash
# The wheel in a new Python environment, without network: installed, used, removed without a trace.
. "$(dirname "$0")/package.sh" "$1"
need_static
python=/usr/bin/python3
[ -x $python ] || python=python3
need_program $python
$python -m venv new > venv.log 2>&1 || skip "no venv: $(tail -n 1 venv.log)"

wheel=$("$sources/tools/package/wheel" "$build/bin/lockstep-static" .) || fail "tools/package/wheel"
pip() { new/bin/python -m pip --disable-pip-version-check "$@"; }
find new -type f ! -name '*.pyc' | sort > before
expect "pip installs it" pip install --no-index "$wheel"
expect "lockstep is on the path of the environment" test -x new/bin/lockstep
expect "it runs" new/bin/lockstep --version
expect "it reads a study" new/bin/lockstep report --from "$sources/examples/studies/c-data-parallel-resnet18.csv"
expect "pip finds every file with its digest" pip check
expect "pip removes it" pip uninstall -y lockstep
find new -type f ! -name '*.pyc' | sort > after
expect "nothing is left" cmp before after
