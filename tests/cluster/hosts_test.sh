#!/bin/bash
# Four hosts with links of 1 Gbit: the same losses as four local workers over Gloo and over MPI, and two hosts with two
# workers each through the hierarchical back end over either.
. "$(dirname "$0")/cluster.sh" "$1"
need hosts_possible
hosts_up 4 1gbit
export hosts_name hosts_folder LOCKSTEP_SSH=$here/namespace-ssh
four_local_workers
for i in 1 2 3 4; do echo "node$i slots=1"; done > four.txt
printf 'node1 slots=2\nnode2 slots=2\n' > two.txt

# trained NAME BACKEND NODES COMMAND...: runs it, and checks over what it ran and with which result
trained() {
  local name=$1 backend=$2 nodes=$3
  shift 3
  timeout 120 "$@" > "$name.jsonl" 2> "$name.err" || fail "$name: $(tail -n 3 "$name.err")"
  expect "$name ran over $backend" grep -q "\"backend\":\"$backend\"" "$name.jsonl"
  expect "$name recorded $nodes nodes" grep -q "\"nodes\":$nodes" "$name.jsonl"
  expect_same_loss local.jsonl "$name.jsonl" "$name trains as four local workers"
}
launch=("$lockstep" --store hosts.db --json train "${short_run[@]}" -n 4 --check-ranks --launcher ssh-hostfile)
trained four-hosts gloo 4 "${launch[@]}" --hostfile four.txt
trained chosen-interface gloo 4 "${launch[@]}" --hostfile four.txt --interface e0
trained two-hosts hierarchical 2 "${launch[@]}" --hostfile two.txt
trained two-hosts-fp16 hierarchical 2 "${launch[@]}" --hostfile two.txt --wire fp16
timeout 60 "$lockstep" train fashion --backend tcp > tcp.txt 2> tcp.err
expect "the retired back end tcp is an error of usage" test $? = 2
expect "which names gloo" grep -q gloo tcp.err

"$lockstep" train fashion -n 4 --launcher ssh-hostfile --hostfile two.txt --dry-run > dry.txt
expect "--dry-run shows one command per worker" test "$(grep -c LOCKSTEP_RANK= dry.txt)" = 4
expect "and no secret" bash -c "! grep -q 'LOCKSTEP_SECRET=[0-9a-f]' dry.txt"

# An unknown network is reported before anything is trained.
timeout 60 "${launch[@]}" --hostfile four.txt --interface eth99 > none.jsonl 2> none.err
expect "an unknown interface is an error of usage" test $? = 2
