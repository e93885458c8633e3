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

# The worker: a torch that is only a name, and a cmake that writes the program it was to build.
build_worker() { env PATH="$folder/stand-ins:$PATH" new/bin/lockstep-build-worker "$@" > worker.out 2> worker.err; }
mkdir stand-ins
cat > stand-ins/cmake << 'END'
#!/bin/sh
echo "$*" >> "$CALLS"
if [ "$1" = --build ]; then mkdir -p "$2/bin"; cp /bin/true "$2/bin/lockstep-worker"; fi
END
chmod +x stand-ins/cmake
export CALLS=$folder/calls
expect "without torch it ends with an error" eval '! build_worker'
expect "which names what to install" grep -q "^hint: pip install torch" worker.err
mkdir stand-ins/torch
echo "class utils: cmake_prefix_path = '/some/torch/share/cmake'" > stand-ins/torch/__init__.py
export PYTHONPATH=$folder/stand-ins
expect "with torch it builds a worker" build_worker -DLOCKSTEP_CUDA=OFF
expect "against that torch, with the options given" grep -q -- "-DTorch_DIR=/some/torch/share/cmake/Torch -DLOCKSTEP_CUDA=OFF" calls
expect "and puts it beside lockstep" test -x new/bin/lockstep-worker
unset PYTHONPATH
if command -v ninja > /dev/null && [ -x "$build/bin/lockstep-worker" ]; then
  mkdir unpacked
  tar -xzf new/share/lockstep/worker-sources.tar.gz -C unpacked
  expect "the sources can be configured" cmake -S unpacked -B unpacked/build -G Ninja -DLOCKSTEP_PROGRAM=OFF \
    -DBUILD_TESTING=OFF -DTorch_DIR="$(sed -n 's/^Torch_DIR:PATH=//p' "$build/CMakeCache.txt")"
  expect "and are complete" ninja -C unpacked/build -n lockstep-worker
fi

expect "pip removes it" pip uninstall -y lockstep
find new -type f ! -name '*.pyc' | sort > after
expect "nothing is left" cmp before after
