#!/bin/sh
# Verifies the proof packs of a session with openssl alone: the signature of the last checkpoint, and
# that the receipts of all of them are the ones whose tree it signs.
# Usage: verify.sh PACK... KEY.pem, with the packs in their order from the first one on
set -eu

[ $# -ge 2 ] || { echo "usage: verify.sh PACK... KEY.pem"; exit 3; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/all"
while [ $# -gt 1 ]; do
    pack=$1
    cat "$pack/receipt_pack.jsonl" >>"$work/all"
    shift
done
key=$1

# A signed note: three lines of text, a blank one, and "— name base64(4 bytes of key id, signature)".
head -n 3 "$pack/checkpoint.note" >"$work/text"
tail -n 1 "$pack/checkpoint.note" | cut -d ' ' -f 3 | openssl base64 -d -A | tail -c 64 >"$work/signature"
openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in "$work/text" -sigfile "$work/signature" >/dev/null || {
    echo "checkpoint: the signature does not hold"
    exit 1
}
echo "checkpoint: signature holds"

# RFC 6962: a leaf is SHA-256(0x00, line), a node SHA-256(0x01, left, right); an odd one goes up as
# it is. The last line repeats the checkpoint and is not part of what it signs.
size=$(sed -n 2p "$work/text")
lines=$(wc -l <"$work/all")
[ "$lines" -eq $((size + 1)) ] || {
    echo "receipts: $lines lines, the checkpoint signs $size; name every pack of the session"
    exit 1
}
mkdir "$work/0"
count=0
head -n "$size" "$work/all" >"$work/lines"
while IFS= read -r line; do
    printf '\000%s' "$line" | openssl dgst -sha256 -binary >"$work/0/$count"
    count=$((count + 1))
done <"$work/lines"
level=0
while [ "$count" -gt 1 ]; do
    next=$((level + 1))
    mkdir "$work/$next"
    at=0
    made=0
    while [ "$at" -lt "$count" ]; do
        if [ $((at + 1)) -lt "$count" ]; then
            { printf '\001'; cat "$work/$level/$at" "$work/$level/$((at + 1))"; } |
                openssl dgst -sha256 -binary >"$work/$next/$made"
        else
            cp "$work/$level/$at" "$work/$next/$made"
        fi
        at=$((at + 2))
        made=$((made + 1))
    done
    level=$next
    count=$made
done
root=$(openssl base64 -A <"$work/$level/0")
if [ "$root" = "$(sed -n 3p "$work/text")" ]; then
    echo "receipts: $size lines, as signed"
else
    echo "receipts: not those that were signed"
    exit 1
fi
