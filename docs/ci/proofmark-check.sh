#!/bin/sh
# Holds a change against the rules in proofmark.toml, on any CI that has git, cargo and proofmark.
# Usage: proofmark-check.sh [BASE_BRANCH] [OPTIONS OF proofmark check]
# Ends with the code of `proofmark check`: 0 pass, 1 regression, 3 wrong kernel, 4 forgery, 5
# undecided, ... The rules are those of the base branch as it is now. The change's build scripts run
# as the user of this script: docs/ci.md says what that means.
set -eu

branch=${1:-origin/main}
[ $# -eq 0 ] || shift
base=$(git merge-base "$branch" HEAD)
report=${PROOFMARK_REPORT:-proofmark-report.md}

code=0
proofmark check --base "rev:$base" --new rev:HEAD --rules "$branch" --format markdown "$@" \
  > "$report" || code=$?
cat "$report"
exit "$code"
