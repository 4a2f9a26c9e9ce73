#!/bin/sh
# Installs proofmark @VERSION@ for Linux on x86-64: downloads an archive, verifies its SHA-256 and
# copies the program to a folder. Nothing else is changed. `cargo xtask release` fills in the words
# between at signs.
#
#   sh proofmark-installer.sh [--to FOLDER] [--symbols]
#
#   --to FOLDER   where the program goes; ~/.local/bin by default
#   --symbols     gets the debug information too: `proofmark profile` then names lines
#
# PROOFMARK_DOWNLOAD_URL replaces the address of the folder that the files are fetched from.
set -eu

version='@VERSION@'
url="${PROOFMARK_DOWNLOAD_URL:-@REPOSITORY@/releases/download/v@VERSION@}"
archive='@ARCHIVE@'
archive_sha256='@ARCHIVE_SHA256@'
symbols='@SYMBOLS@'
symbols_sha256='@SYMBOLS_SHA256@'
oldest_glibc='@OLDEST_GLIBC@'

fail() {
  echo "error: $1" >&2
  exit 1
}

folder=''
wants_symbols=no
while [ $# -gt 0 ]; do
  case "$1" in
    --to)
      [ $# -ge 2 ] || fail 'give a folder after --to'
      folder="$2"
      shift 2
      ;;
    --symbols)
      wants_symbols=yes
      shift
      ;;
    *) fail "there is no option $1; the options are --to FOLDER and --symbols" ;;
  esac
done
if [ -z "$folder" ]; then
  [ -n "${HOME:-}" ] || fail 'HOME is not set: give the folder with --to'
  folder="$HOME/.local/bin"
fi

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
  fail "there is no archive for $(uname -s) on $(uname -m): build from source with cargo"
glibc="$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/^glibc //')" || glibc=''
[ -n "$glibc" ] || fail 'this system has no glibc: build from source with cargo'
older="$(printf '%s\n%s\n' "$glibc" "$oldest_glibc" | sort -V | head -n 1)"
[ "$older" = "$oldest_glibc" ] ||
  fail "glibc $glibc is older than $oldest_glibc: build from source with cargo"
for tool in sha256sum tar gzip; do
  command -v "$tool" >/dev/null || fail "$tool is missing: install it and try again"
done

download() {
  if command -v curl >/dev/null; then
    curl --fail --silent --show-error --location --output "$2" "$1"
  elif command -v wget >/dev/null; then
    wget --quiet --output-document="$2" "$1"
  else
    fail 'neither curl nor wget is here: install one and try again'
  fi || fail "$1 cannot be downloaded"
}

verify() {
  found="$(sha256sum "$1" | cut -d ' ' -f 1)"
  [ "$found" = "$2" ] ||
    fail "$(basename "$1") has SHA-256 $found and not $2: it is damaged or was changed; nothing is installed"
}

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
download "$url/$archive" "$work/$archive"
verify "$work/$archive" "$archive_sha256"
tar -xzf "$work/$archive" -C "$work" --strip-components=1
if [ "$wants_symbols" = yes ]; then
  download "$url/$symbols" "$work/$symbols"
  verify "$work/$symbols" "$symbols_sha256"
  tar -xzf "$work/$symbols" -C "$work" --strip-components=1
fi

mkdir -p "$folder"
# The old program may be running: its file is replaced, not written over.
cp "$work/proofmark" "$folder/.proofmark-$$"
chmod 755 "$folder/.proofmark-$$"
mv -f "$folder/.proofmark-$$" "$folder/proofmark"
if [ "$wants_symbols" = yes ]; then
  mkdir -p "$folder/.debug"
  cp "$work/proofmark.debug" "$folder/.debug/proofmark.debug"
fi

echo "proofmark $version is in $folder"
case ":${PATH:-}:" in
  *":$folder:"*) echo 'next: proofmark doctor' ;;
  *) echo "next: add $folder to PATH, then run: proofmark doctor" ;;
esac
