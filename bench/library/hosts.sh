#!/bin/bash
# Steps of the library between two hosts whose link is known, against sums that begin when backward is over.
#
#   bench/library/hosts.sh BUILD/bin [RATES...]        needs root (network namespaces) and MPI; default 1gbit 200mbit
#
# ResNet-18 in one process per host, the ways of bench_library in alternation (WAYS), then the example of the PyTorch
# project (compare.py). One core per host: the hosts share one machine. BATCHES (default "8 32") and ROUNDS (default 9)
# set the size of the first part, EXAMPLE_ROUNDS (default 5, 0 = none) that of the second.
. "$(dirname "${BASH_SOURCE[0]}")/../cluster/bench_hosts.sh" "$@"
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=e0
mpi=(mpirun -np 2 --hostfile "$folder/hosts-2.txt" --bind-to none)
for rate in "${rates[@]}"; do
  hosts_up 2 "$rate"
  export hosts_name hosts_folder
  echo "== link $rate"
  for batch in ${BATCHES-8 32}; do
    on_host 1 "${mpi[@]}" "$programs/bench_library" resnet18 "${ROUNDS:-9}" "$batch" \
      "${WAYS:-library;blocking;mpi;bf16}" || fail "ResNet-18 at b = $batch"
  done
  if [ "${EXAMPLE_ROUNDS:-5}" != 0 ]; then
    on_host 1 "$python" "$bench/../library/compare.py" "$programs/.." --rounds "${EXAMPLE_ROUNDS:-5}" \
      --mpirun "${mpi[*]}" || fail "the example"
  fi
  hosts_down
done
