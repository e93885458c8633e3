# Hosts on one machine: network namespaces that a bridge joins, each with a shaped link. To be sourced.
#
#   hosts_up COUNT RATE     makes COUNT hosts ${hosts_name}1.. with addresses 10.77.0.1.. on e0
#   on_host I COMMAND...    runs a command there, with a host name, /etc/hosts and /dev/shm of its own
#   hosts_down              removes all of it; safe to call at any time
#
# Names carry the id of this shell, so that several tests can have hosts at once; all is torn down by
# those names and by nothing else.
hosts_name=lsh$$-
hosts_count=0
hosts_folder=
# What goes through at once before the rate counts.
hosts_burst=256kb

hosts_possible() {
  [ "$(id -u)" = 0 ] || { echo "not root"; return 1; }
  command -v ip tc unshare nsenter > /dev/null || { echo "no ip, tc, unshare or nsenter"; return 1; }
  ip netns add "lsp$$" 2> /dev/null || { echo "no right to make network namespaces"; return 1; }
  ip netns del "lsp$$"
}

hosts_up() {
  hosts_count=$1
  local rate=$2 i
  hosts_folder=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-hosts-XXXXXX")
  echo "127.0.0.1 localhost" > "$hosts_folder/hosts"
  ip netns add "${hosts_name}sw"
  ip -n "${hosts_name}sw" link add br0 type bridge
  ip -n "${hosts_name}sw" link set br0 up
  for i in $(seq "$hosts_count"); do
    local ns="${hosts_name}$i"
    echo "10.77.0.$i node$i" >> "$hosts_folder/hosts"
    ip netns add "$ns"
    ip -n "$ns" link set lo up
    ip link add e0 netns "$ns" type veth peer name "p$i" netns "${hosts_name}sw"
    ip -n "${hosts_name}sw" link set "p$i" master br0 up
    ip -n "$ns" addr add "10.77.0.$i/24" dev e0
    ip -n "$ns" link set e0 up
    tc -n "$ns" qdisc add dev e0 root tbf rate "$rate" burst "$hosts_burst" latency 50ms
    tc -n "${hosts_name}sw" qdisc add dev "p$i" root tbf rate "$rate" burst "$hosts_burst" latency 50ms
  done
}

# Cuts a host off, or ties it on again.
host_link() { ip -n "${hosts_name}$1" link set e0 "$2"; }

# A host that is lost permanently, with everything that ran on it.
host_lost() {
  local pids
  host_link "$1" down
  pids=$(ip netns pids "${hosts_name}$1")
  [ -z "$pids" ] || kill -9 $pids
}

on_host() {
  local i=$1
  shift
  nsenter --net="/run/netns/${hosts_name}$i" unshare --uts --mount bash -c '
    hostname "$1"; mount --bind "$2" /etc/hosts; mount -t tmpfs none /dev/shm; shift 2; exec "$@"' \
    on-host "node$i" "$hosts_folder/hosts" "$@"
}

hosts_down() {
  local i pids
  for i in $(seq "$hosts_count") sw; do
    pids=$(ip netns pids "${hosts_name}$i" 2> /dev/null)
    [ -z "$pids" ] || kill -9 $pids 2> /dev/null
    ip netns del "${hosts_name}$i" 2> /dev/null
  done
  [ -z "$hosts_folder" ] || rm -rf "$hosts_folder"
  hosts_count=0
  hosts_folder=
}
