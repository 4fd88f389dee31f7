#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Breaks each rule of check.sh in a small tree and looks whether check.sh sees it.
set -euo pipefail

check="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/check.sh"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
cd "$tree"

apache='// SPDX-License-Identifier: Apache-2.0'
gpl='// SPDX-License-Identifier: GPL-3.0-or-later'
failures=0

fresh() {
    rm -rf "${tree:?}"/* "${tree:?}"/.ci
    mkdir -p core/base core/trace ui app/cli app/layout tests/ui resources/cmake .ci
    printf '# SPDX-License-Identifier: Apache-2.0\n' | tee CMakeLists.txt dev .ci/run >/dev/null
    printf '%s\n#include <vector>\n' "$apache" >core/base/a.h
    printf '%s\n#include "core/base/a.h"\n#include "embedded/x.h"\n' "$apache" >core/trace/t.cpp
    printf '%s\n#include <QWidget>\n#include "core/trace/t.h"\n' "$gpl" >ui/w.cpp
    printf '%s\n#include "ui/w.h"\n' "$gpl" >app/main.cpp
    printf '%s\n#include <graphviz/gvc.h>\n' "$gpl" >app/layout/main.cpp
}

# expect STATUS RULE WHAT [ARGUMENT...]
expect() {
    local wanted="$1" rule="$2" what="$3" status=0 output
    shift 3
    output="$(bash "$check" "$rule" "$@" 2>&1)" || status=$?
    if [[ "$status" != "$wanted" ]]; then
        printf 'FAILED %s (%s): expected status %s, found %s\n%s\n' "$rule" "$what" "$wanted" "$status" "$output"
        failures=$((failures + 1))
    fi
}

fresh
for rule in no_qt no_graphviz layers parts spdx size; do
    expect 0 "$rule" "a clean tree"
done

fresh && printf '  #  include <QString>\n' >>core/base/a.h && expect 1 no_qt "Qt in core"
fresh && printf '#include <QtCore/QString>\n' >>core/base/a.h && expect 1 no_qt "Qt by module in core"
fresh && printf '%s\n#include <QString>\n' "$gpl" >app/cli/main.cpp && expect 1 no_qt "Qt in the command line"
fresh && printf '#include <graphviz/cgraph.h>\n' >>ui/w.cpp && expect 1 no_graphviz "Graphviz in ui"
fresh && printf '#include "ui/w.h"\n' >>core/base/a.h && expect 1 layers "core uses ui"
fresh && printf '#include "app/main.h"\n' >>ui/w.cpp && expect 1 layers "ui uses app"
fresh && printf '#include "core/trace/t.h"\n' >>core/base/a.h && expect 1 parts "base uses trace"
fresh && printf '#include "t.h"\n' >>core/trace/t.cpp && expect 1 parts "a path that does not start at the root"
fresh && mkdir core/new && expect 1 parts "a part nobody knows"
fresh && printf 'int x;\n' >core/base/b.cpp && expect 1 spdx "no licence"
fresh && printf '%s\n' "$gpl" >core/base/b.cpp && expect 1 spdx "the wrong licence in core"
fresh && printf '%s\n' "$apache" >ui/b.h && expect 1 spdx "the wrong licence in ui"
fresh && printf 'set(X a)\n' >app/sources.cmake && expect 1 spdx "a CMake file without licence"
fresh && head -c 20481 /dev/zero >core/base/big.cpp && expect 1 size "a file too large"
fresh && head -c 20480 /dev/zero >core/base/big.cpp && expect 0 size "a file as large as may be"
expect 77 links "a program that is not there" ./nowhere '^libc' 'C library'
if command -v readelf >/dev/null; then
    expect 1 links "a program that links it" "$(command -v bash)" '^libc\.so' 'C library'
    expect 0 links "a program that does not" "$(command -v bash)" '^libQt' 'Qt'
fi

if [[ "$failures" != 0 ]]; then
    printf '%s checks do not work\n' "$failures"
    exit 1
fi
printf 'every broken rule was seen\n'
