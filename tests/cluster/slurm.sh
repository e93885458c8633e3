# A separate Slurm, one slurmd per node, in its own folder. To be sourced.
#
#   slurm_up NODES [CPUS]   on this host, all nodes on loopback; exports SLURM_CONF
#   slurm_down              cancels all jobs, stops the daemons by their pid files, removes the folder
slurm_folder=
slurm_nodes=0

slurm_possible() {
  [ "$(id -u)" = 0 ] || { echo "not root"; return 1; }
  local program
  for program in munged slurmctld slurmd srun sbatch squeue scontrol; do
    PATH=$PATH:/usr/sbin:/sbin command -v $program > /dev/null || { echo "no $program"; return 1; }
  done
}

slurm_up() {
  slurm_nodes=$1
  local cpus=${2:-2} i host base
  PATH=$PATH:/usr/sbin:/sbin
  host=$(hostname -s)
  slurm_folder=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-slurm-XXXXXX")
  chmod 755 "$slurm_folder"
  mkdir "$slurm_folder"/{state,spool,log,tmp,munge}
  dd if=/dev/urandom of="$slurm_folder/munge/key" bs=128 count=1 2> /dev/null
  chmod 600 "$slurm_folder/munge/key"
  munged --key-file="$slurm_folder/munge/key" --socket="$slurm_folder/munge/sock" \
    --pid-file="$slurm_folder/munge/pid" --log-file="$slurm_folder/munge/log" \
    --seed-file="$slurm_folder/munge/seed" --force 2> /dev/null
  base=$((12000 + $$ % 4000 * 2))
  {
    cat << END
ClusterName=lockstep$$
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm_folder/munge/sock
CredType=cred/munge
StateSaveLocation=$slurm_folder/state
SlurmdSpoolDir=$slurm_folder/spool/%n
SlurmctldPidFile=$slurm_folder/slurmctld.pid
SlurmdPidFile=$slurm_folder/slurmd-%n.pid
SlurmctldLogFile=$slurm_folder/log/slurmctld.log
SlurmdLogFile=$slurm_folder/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
SlurmdParameters=config_overrides
TmpFS=$slurm_folder/tmp/%n
KillWait=5
END
    for i in $(seq "$slurm_nodes"); do
      echo "NodeName=node$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + i)) CPUs=$cpus" \
        "Boards=1 SocketsPerBoard=1 CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=2000 State=UNKNOWN"
    done
    echo "PartitionName=cpu Nodes=node[1-$slurm_nodes] Default=YES MaxTime=60 State=UP OverSubscribe=YES"
  } > "$slurm_folder/slurm.conf"
  export SLURM_CONF=$slurm_folder/slurm.conf
  slurmctld -f "$SLURM_CONF"
  for i in $(seq "$slurm_nodes"); do
    mkdir -p "$slurm_folder/spool/node$i" "$slurm_folder/tmp/node$i"
    slurmd -N "node$i" -f "$SLURM_CONF"
  done
  for i in $(seq 150); do
    [ "$(sinfo -h -o %t 2> /dev/null)" = idle ] && return 0
    sleep 0.2
  done
  echo "slurm did not come up: $(sinfo -h 2>&1); $(tail -3 "$slurm_folder/log/slurmctld.log")" >&2
  return 1
}

slurm_down() {
  [ -n "$slurm_folder" ] || return 0
  local pid file
  timeout 10 scancel --user=root 2> /dev/null
  for _ in $(seq 50); do
    [ -z "$(timeout 5 squeue -h 2> /dev/null)" ] && break
    sleep 0.2
  done
  for file in "$slurm_folder"/slurmd-*.pid "$slurm_folder/slurmctld.pid" "$slurm_folder/munge/pid"; do
    [ -s "$file" ] || continue
    pid=$(cat "$file")
    kill "$pid" 2> /dev/null
    for _ in $(seq 50); do kill -0 "$pid" 2> /dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2> /dev/null
  done
  rm -rf "$slurm_folder"
  slurm_folder=
}
