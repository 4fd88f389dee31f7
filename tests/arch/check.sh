#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds the rules of the architecture. check.sh RULE [ARGUMENT...], run in the root of the repository.
# Exit status: 0 the rule holds, 1 it is broken (each place is printed), 77 it cannot be checked (the reason is printed).
set -euo pipefail

max_bytes=20480

# Which parts of the core a part may include, besides itself.
allowed_parts() {
    case "$1" in
        base) echo "" ;;
        trace | graph) echo "base" ;;
        io | link) echo "base trace graph" ;;
        cost) echo "base trace graph link" ;;
        fusion) echo "base trace graph link cost" ;;
        analysis) echo "base trace graph io link cost fusion" ;;
        draw) echo "base trace graph link cost fusion analysis" ;;
        region) echo "base trace graph link cost fusion analysis" ;;
        ipc) echo "base graph region" ;;
        measured) echo "base trace graph link cost fusion analysis draw region ipc" ;;
        report) echo "base trace graph io link cost fusion analysis region draw ipc measured" ;;
        *) return 1 ;;
    esac
}

cannot_check() {
    printf 'not checked: %s\n' "$1"
    exit 77
}

broken=0
complain() {
    printf '%s\n' "$1"
    broken=1
}

finish() {
    if [[ "$broken" != 0 ]]; then
        printf 'broken: %s\n' "$1"
        exit 1
    fi
    printf 'holds: %s\n' "$1"
    exit 0
}

# sources FOLDER... : C++ and CUDA files below them, one a line.
sources() {
    local folder
    for folder in "$@"; do
        [[ -d "$folder" ]] || continue
        find "$folder" -type f \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \)
    done | LC_ALL=C sort
}

# includes FILE: "LINE TEXT" of each include, TEXT with its quotes or angles.
includes() {
    sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*(["<][^">]+[">]).*/\1/;T;=;p' "$1" | paste -d' ' - -
}

# forbid_includes REGEX WHY FOLDER... : no include in these folders matches.
forbid_includes() {
    local regex="$1" why="$2" file line text
    shift 2
    while IFS= read -r file; do
        while read -r line text; do
            if [[ "$text" =~ $regex ]]; then
                complain "$file:$line: includes $text; $why"
            fi
        done < <(includes "$file")
    done < <(sources "$@")
}

# links PROGRAM LIBRARY_REGEX WHAT: the program does not ask the loader for such a library.
rule_links() {
    local program="$1" regex="$2" what="$3" needed
    command -v readelf >/dev/null || cannot_check "readelf is not installed (package binutils)"
    [[ -f "$program" ]] || cannot_check "$program is not built"
    needed="$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')"
    [[ -n "$needed" ]] || complain "$program: readelf names no library at all, so nothing can be told"
    while IFS= read -r library; do
        if [[ "$library" =~ $regex ]]; then
            complain "$program links $library"
        fi
    done <<<"$needed"
    finish "${program##*/} links no $what"
}

rule_no_qt() {
    [[ -d core ]] || cannot_check "there is no folder core/"
    forbid_includes '^[<"](Q[A-Z]|Qt|q[a-z]+\.h)' "Qt stays in ui/ and app/" core kernels app/cli app/layout app/runner
    finish "no Qt outside ui/ and the desktop program"
}

rule_no_graphviz() {
    local file line text
    while IFS= read -r file; do
        [[ "$file" == app/layout/* ]] && continue
        while read -r line text; do
            if [[ "$text" =~ ^[\<\"](graphviz/|gvc\.h|cgraph\.h) ]]; then
                complain "$file:$line: includes $text; Graphviz stays in app/layout"
            fi
        done < <(includes "$file")
    done < <(sources core ui app kernels)
    finish "no Graphviz outside app/layout"
}

rule_layers() {
    forbid_includes '^"(ui|app|kernels|tests)/' "the core stands alone" core
    forbid_includes '^"(app|kernels|tests)/' "the views know nothing of the program around them" ui
    forbid_includes '^"(ui|tests)/' "a program without a window does not use the views" app/cli app/layout app/runner
    finish "core < ui < app"
}

rule_parts() {
    local folder part allowed file line text used
    for folder in core/*/; do
        [[ -d "$folder" ]] || cannot_check "core/ has no parts yet"
        part="$(basename "$folder")"
        if ! allowed="$(allowed_parts "$part")"; then
            complain "core/$part: not a known part; tests/arch/check.sh says what each part may include"
            continue
        fi
        while IFS= read -r file; do
            while read -r line text; do
                [[ "$text" == \"* ]] || continue
                if [[ "$text" =~ ^\"core/([a-z_]+)/ ]]; then
                    used="${BASH_REMATCH[1]}"
                    [[ " $part $allowed " == *" $used "* ]] ||
                        complain "$file:$line: includes $text; core/$part may include ${allowed:-nothing} and itself"
                elif [[ ! "$text" =~ ^\"embedded/ ]]; then
                    complain "$file:$line: includes $text; write the path from the root: \"core/...\""
                fi
            done < <(includes "$file")
        done < <(sources "core/$part")
    done
    finish "each part of the core includes only parts below it"
}

# Files that can hold a comment, with the licence their folder asks for (any, where it asks for none).
rule_spdx() {
    local file wanted line
    while IFS= read -r file; do
        case "$file" in
            tests/data/* | tests/fuzz/corpus/*) continue ;;
            core/* | kernels/* | tests/core/* | tests/kernels/*) wanted="Apache-2.0" ;;
            ui/* | app/* | tests/ui/* | tests/app/*) wanted="GPL-3.0-or-later" ;;
            *) wanted="" ;;
        esac
        line="$(head -n 5 "$file" | grep -m1 -oE 'SPDX-License-Identifier: [A-Za-z0-9.+-]+' || true)"
        if [[ -z "$line" ]]; then
            complain "$file: has no SPDX-License-Identifier in its first five lines${wanted:+ (expected $wanted)}"
        elif [[ -n "$wanted" && "$line" != "SPDX-License-Identifier: $wanted" ]]; then
            complain "$file: says ${line#*: }, expected $wanted"
        fi
    done < <(
        find core ui app kernels tests resources/cmake -type f \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' \
            -o -name '*.cuh' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.sh' -o -name '*.py' \
            -o -name '*.case' \) 2>/dev/null | LC_ALL=C sort
        printf '%s\n' CMakeLists.txt dev .ci/run
    )
    finish "every source names its licence"
}

rule_size() {
    local file bytes
    while IFS= read -r file; do
        bytes="$(wc -c <"$file")"
        [[ "$bytes" -le "$max_bytes" ]] || complain "$file: $bytes bytes, at most $max_bytes; split it"
    done < <(sources core ui app)
    finish "no file over $max_bytes bytes in core/, ui/ and app/"
}

rule="${1:?which rule?}"
shift
case "$rule" in
    links | no_qt | no_graphviz | layers | parts | spdx | size) "rule_$rule" "$@" ;;
    *)
        printf 'there is no rule "%s"\n' "$rule" >&2
        exit 2
        ;;
esac
