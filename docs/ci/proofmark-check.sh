#!/bin/sh
# Holds a change against the rules in proofmark.toml, on any CI that has git, cargo and proofmark.
# Usage: proofmark-check.sh [BASE_BRANCH] [OPTIONS OF proofmark check]
# Ends with the code of `proofmark check`: 0 pass, 1 regression, 3 wrong kernel, 5 undecided, ...
set -eu

branch=${1:-origin/main}
[ $# -eq 0 ] || shift
base=$(git merge-base "$branch" HEAD)
report=${PROOFMARK_REPORT:-proofmark-report.md}

code=0
proofmark check --base "rev:$base" --new rev:HEAD --format markdown "$@" > "$report" || code=$?
cat "$report"
exit "$code"
