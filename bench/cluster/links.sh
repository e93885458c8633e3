#!/bin/bash
# All-reduce between hosts whose link is known: how close each back end comes to it, and when summing inside hosts
# first pays.
#
#   bench/cluster/links.sh BUILD/bin [RATES...]        needs root (network namespaces); default 1gbit 200mbit
. "$(dirname "$0")/bench_hosts.sh" "$@"
for rate in "${rates[@]}"; do
  hosts_up 4 "$rate"
  export hosts_name hosts_folder
  echo "== link $rate"
  for backend in gloo mpi; do
    collectives 4 $backend hosts-4.txt 17MB > $backend.json
    "$python" "$bench/figures.py" busbw $backend "$rate" $backend.json
  done
  # Two workers on each of two hosts.
  for backend in gloo hierarchical; do collectives 4 $backend hosts-pairs.txt 17MB > pairs-$backend.json; done
  "$python" "$bench/figures.py" pairs pairs-gloo.json pairs-hierarchical.json
  hosts_down
done
