#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# interrupt.sh CLI FAKE_RUNNER SAMPLES: Ctrl-C ends fusescope-cli with 130 within two seconds, whatever the runner does,
# and no runner stays behind.
set -euo pipefail

cli="$1" fake="$2" samples="$3"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
export XDG_CONFIG_HOME="$folder"
broken=0

# interrupted WAY COMMAND...: a second after its start.
interrupted() {
    local way="$1" status=0 began ended
    shift
    # exec: its process is the runner itself, whose number is kept.
    "$cli" "$@" --runner "sh -c 'echo \$\$ >$folder/pid; exec \"$fake\" $way'" >"$folder/out" 2>"$folder/err" &
    local pid=$!
    sleep 1
    began="$(date +%s%N)"
    kill -INT "$pid"
    wait "$pid" || status=$?
    ended="$(date +%s%N)"
    local ms=$(((ended - began) / 1000000))
    if [[ "$status" != 130 || "$ms" -gt 2000 ]]; then
        printf '%s, %s: exit status %s after %s ms; stderr:\n' "$1" "$way" "$status" "$ms"
        cat "$folder/err"
        broken=1
    fi
    if kill -0 "$(cat "$folder/pid")" 2>/dev/null; then
        printf '%s, %s: the runner goes on\n' "$1" "$way"
        broken=1
    fi
}

trace="$samples/qwen3-8b-2layer-train-eager.pt.trace.json.gz"
for way in slow late hang chatter hang-at-start; do
    interrupted "$way" fuse --trace "$trace" --region rms_norm
done
interrupted hang device --calibrate
exit "$broken"
