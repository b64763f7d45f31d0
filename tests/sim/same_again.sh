#!/bin/bash
# Two runs of one seed are the same, step by step, in processes of their own; and
# a run of another seed is another run.
#
#     same_again.sh QUARRY-SIM SCENARIO…
set -euo pipefail
sim=$1
shift
for scenario in "$@"; do
    first=$("$sim" --scenario "$scenario" --seed 5)
    second=$("$sim" --scenario "$scenario" --seed 5)
    [ "$first" = "$second" ] || {
        printf 'not the same:\n%s\n%s\n' "$first" "$second"
        exit 1
    }
    [[ $first =~ digest=[0-9a-f]{16} ]]
done
other=$("$sim" --scenario lock --seed 6)
first=$("$sim" --scenario lock --seed 5)
[ "${first#*digest=}" != "${other#*digest=}" ]
