#!/usr/bin/env bash
# The check, end to end, on a git repository made for it: planted regressions, a wrong kernel, a
# change without effect, an improvement. Ends with 1 if any verdict is not the one that is due.
# Usage: [PROOFMARK=path] scenario.sh [TIMES THAT THE CHANGE WITHOUT EFFECT IS CHECKED]
set -euo pipefail

times=${1:-30}
PROOFMARK=$(command -v "${PROOFMARK:-proofmark}")
export PROOFMARK PROOFMARK_UNDER_TEST=$PROOFMARK
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export PROOFMARK_STORE=$place/store PROOFMARK_BUILD_CACHE=$place/cache
# The worker of each revision becomes another program, which the sandbox of T2 refuses.
export PROOFMARK_ISOLATION=t1
mkdir -p "$place/repo/src"
cd "$place/repo"

git() { command git -c user.name=scenario -c user.email=scenario@example.org "$@"; }

# A crate whose worker becomes the proofmark under test. What a revision plants is told in receipts.
crate() { # WORDS OF THE WORKER, CONTENDER
  cat > src/main.rs <<RUST
use std::os::unix::process::CommandExt;
fn main() {
    let program = std::env::var("PROOFMARK_UNDER_TEST").expect("the program is named");
    let mut next = std::process::Command::new(program);
    let error = next.args(std::env::args().skip(1)).args("$1".split_whitespace()).exec();
    panic!("{error}");
}
RUST
  cat > Cargo.toml <<TOML
[package]
name = "kernels"
version = "0.1.0"
edition = "2021"
[workspace]
[package.metadata.proofmark]
worker = "kernels"
args = ["__worker"]
contender = "${2:-native/simd}"
TOML
  printf 'version = 4\n\n[[package]]\nname = "kernels"\nversion = "0.1.0"\n' > Cargo.lock
}

revision() { # BRANCH, WORDS OF THE WORKER, CONTENDER
  git checkout --quiet -B "$1" main
  crate "$2" "${3:-native/simd}"
  git commit --quiet --all --allow-empty -m "$1"
}

rules() { # FILE, CASES, MORE
  printf '[check]\nbaseline = "rev:main"\ncases = [%s]\nseconds = 30\n%s\n' "$2" "$3" > "$place/$1"
}

failed=0
expect() { # NAME, CODE, WORD THAT IS DUE, OPTIONS OF proofmark check
  local name=$1 due=$2 word=$3 code=0 start=$SECONDS
  shift 3
  "$PROOFMARK" check --repo . --settle 0 --quiet "$@" > "$place/out" 2> "$place/err" || code=$?
  local said=ok
  if [ "$code" != "$due" ] || ! cat "$place/out" "$place/err" | grep -q -- "$word"; then
    said=NOT && failed=1 && cat "$place/out" "$place/err"
  fi
  printf '%-34s exit %s (due %s) %s, %s s\n' "$name" "$code" "$due" "$said" $((SECONDS - start))
  grep -m 1 -E '^ [a-z_]+:f' "$place/out" | sed 's/  */ /g; s/^/   /' || true
}

git init --quiet -b main
crate ""
git add . && git commit --quiet -m main
revision no-op "" && sed -i 's/is named/is there/' src/main.rs && git commit --quiet -am no-op
revision slower-7 "--plant slower=7"
revision slower-12 "--plant slower=12"
revision slower-3 "--plant slower=3"
revision memory "--plant memory=29"
revision allocates "--plant allocations=1"
revision wrong "" mutant/eps_ignored
git checkout --quiet main

norm='"rms_norm:f32[b=1,s=12,d=256]", "rms_norm:f32[b=1,s=16,d=256]"'
entry='[[accept]]
case = "rms_norm:*"
up_to = 50
reason = "the scenario"
date = 2026-11-15
'
rules plain.toml "$norm" ''
rules accepted.toml "$norm" "$entry"
rules critical.toml "$norm" "$entry
[[tag]]
name = \"critical\"
ops = [\"rms_norm\"]
"
rules memory.toml '"add:f32[b=1,s=256,d=1024]"' ''
plain=(--config "$place/plain.toml")

expect "slower by 7 %" 1 REGRESSION "${plain[@]}" --new rev:slower-7
cp "$place/plain.toml" "$place/explained.toml"
sed -n '/^\[\[accept\]\]/,$p' "$place/out" | sed 's/reason = ""/reason = "safer sums"/' \
  >> "$place/explained.toml"
expect "the same, explained" 0 "slower, explained" --config "$place/explained.toml" \
  --new rev:slower-7
expect "slower by 12 %, critical, accepted" 1 BLOCKED --config "$place/critical.toml" \
  --new rev:slower-12
expect "slower by 12 %, accepted" 0 "slower, explained" --config "$place/accepted.toml" \
  --new rev:slower-12
expect "slower by 3 %" 0 "slower, within limit" "${plain[@]}" --new rev:slower-3
expect "memory grows by a quarter" 1 "of memory at its peak" --config "$place/memory.toml" \
  --new rev:memory
expect "begins to allocate" 1 "allocates 1.00 times a call" "${plain[@]}" --new rev:allocates
expect "a wrong kernel" 3 "wrong kernel" "${plain[@]}" --new rev:wrong
expect "too few seconds" 5 UNDECIDED "${plain[@]}" --new rev:no-op --seconds 0.01
expect "an improvement" 0 FASTER "${plain[@]}" --base rev:slower-7 --new rev:main
# The script that `proofmark init --script` writes, as a CI calls it.
mkdir "$place/bin" && ln -s "$PROOFMARK" "$place/bin/proofmark"
git checkout --quiet slower-7
cp "$place/plain.toml" proofmark.toml
"$PROOFMARK" init --script > "$place/out"
code=0
PATH=$place/bin:$PATH ci/proofmark-check.sh main --settle 0 --quiet > "$place/out" || code=$?
if [ "$code" != 1 ] || ! grep -q '| REGRESSION |' proofmark-report.md; then failed=1; fi
printf '%-34s exit %s (due 1)\n' "the script, slower by 7 %" "$code"
for number in $(seq "$times"); do
  expect "no effect, $number of $times" 0 PASS "${plain[@]}" --new rev:no-op --seed "$number"
done
exit "$failed"
