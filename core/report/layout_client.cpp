// SPDX-License-Identifier: Apache-2.0
// Graphviz may hang, abort or be missing; the picture is drawn all the same.
#include "core/report/layout_client.h"

#include "core/ipc/child_process.h"
#include "core/ipc/layout_protocol.h"

#include <string>

namespace fusescope {

LayoutResult layoutWithHelper(const LayoutRequest& request) {
    const std::string program = siblingProgram("fusescope-layout");
    if (program.empty() || request.boxes.empty()) return layeredLayout(request);
    const Result<std::string> answer = runChild({program}, encodeLayoutRequest(request), kLayoutTimeoutMs);
    if (!answer.ok()) return layeredLayout(request);
    Result<LayoutResult> layout = decodeLayoutResult(answer.value(), request);
    return layout.ok() ? std::move(layout).value() : layeredLayout(request);
}

} // namespace fusescope
