# What the benchmarks of this folder begin with. To be sourced with the folder of the programs and rates as arguments.
python=/usr/bin/python3
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$bench/../../tests/cluster/cluster.sh" "$1"
shift
rates=("$@")
[ ${#rates[@]} -gt 0 ] || rates=(1gbit 200mbit)
need hosts_possible
# No link sends a burst of 256 kB at once: small sums would seem to have a faster one. A packet of 64 kB has to fit.
hosts_burst=80kb
export LOCKSTEP_SSH=$here/namespace-ssh OMPI_MCA_plm_rsh_agent=$here/namespace-ssh
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=e0 OMPI_MCA_oob_tcp_if_include=e0
for n in 2 4; do for i in $(seq $n); do echo "node$i slots=1"; done > hosts-$n.txt; done
printf 'node1 slots=2\nnode2 slots=2\n' > hosts-pairs.txt

# collectives WORKERS BACKEND HOSTFILE MAX: the calibration, kept in bench.db, as JSON
collectives() {
  local launcher=(--launcher ssh-hostfile)
  [ "$2" != mpi ] || launcher=(--launcher mpi)
  on_host 1 "$lockstep" --store bench.db --json bench collectives --workers "$1" --backend "$2" \
    --max "$4" --seconds 1 "${launcher[@]}" --hostfile "$3" 2> "collectives-$2.err" ||
    fail "collectives over $2: $(tail -n 3 "collectives-$2.err")"
}

# What the cores do alone and together, also kept in bench.db: contention of the ranks on one machine follows from it.
calibrate_device() {
  on_host 1 "$lockstep" --store bench.db bench device --seconds 0.5 > device.txt 2> device.err ||
    fail "calibration of the device: $(tail -n 3 device.err)"
}
