#!/bin/bash
# Four hosts with links of 1 Gbit: the same parameters as four local workers over every back end, sums
# that are right, and two hosts with two workers each through the hierarchical back end.
. "$(dirname "$0")/cluster.sh" "$1"
need hosts_possible
hosts_up 4 1gbit
export hosts_name hosts_folder LOCKSTEP_SSH=$here/namespace-ssh
four_local_workers
for i in 1 2 3 4; do echo "node$i slots=1"; done > four.txt
printf 'node1 slots=2\nnode2 slots=2\n' > two.txt

launch=("$lockstep" --store hosts.db --json train "${short_run[@]}" -n 4 --launcher ssh-hostfile)
timeout 120 "${launch[@]}" --hostfile four.txt > four.jsonl 2> four.err || fail "four hosts"
expect_same_parameters local.jsonl four.jsonl "four hosts train as four local workers"
expect "it was over tcp" grep -q '"backend":"tcp"' four.jsonl
timeout 120 "${launch[@]}" --hostfile four.txt --backend gloo --interface e0 --check-ranks \
  > gloo.jsonl 2> gloo.err || fail "four hosts over gloo"
expect "gloo with a chosen interface ends well" grep -q '"status":"done"' gloo.jsonl
timeout 120 "${launch[@]}" --hostfile two.txt --check-ranks > two.jsonl 2> two.err || fail "two hosts"
expect "two hosts with two workers each are hierarchical" grep -q '"backend":"hierarchical"' two.jsonl
expect "which the record tells" grep -q '"nodes":2' two.jsonl
"$lockstep" train fashion -n 4 --launcher ssh-hostfile --hostfile two.txt --dry-run > dry.txt
expect "--dry-run shows one command a worker" test "$(grep -c LOCKSTEP_RANK= dry.txt)" = 4
expect "and no secret" bash -c "! grep -q 'LOCKSTEP_SECRET=[0-9a-f]' dry.txt"

# A network that is not there is named before anything is trained.
timeout 60 "${launch[@]}" --hostfile four.txt --interface eth99 > none.jsonl 2> none.err
expect "an interface that does not exist is an error of usage" test $? = 2
