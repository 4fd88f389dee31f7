// SPDX-License-Identifier: Apache-2.0
// A torch.export archive (ZIP), or the graph JSON alone, through everything that is made of it without a layout
// program.
#include "core/graph/layout.h"
#include "core/graph/print.h"
#include "core/io/pt2/pt2_reader.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fusescope;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const Result<GraphPtr> read = bytes.substr(0, 2) == "PK" ? readPt2Memory(bytes) : readPt2Json(bytes);
    if (!read) {
        if (read.error().message().empty()) std::abort();
        return 0;
    }
    const ModelGraph& graph = **read;
    (void)printTree(graph);
    (void)printNodes(graph);
    GraphViewState everything;
    for (std::size_t m = 0; m < graph.modules.modules.size(); ++m) {
        everything.expanded.insert(ModuleId(m));
        (void)graph.modules.parameterCount(ModuleId(m));
        if (m == 50) break;
    }
    for (std::size_t n = 0; n < graph.ops.nodes.size() && n < 50; ++n) {
        (void)graph.ops.sourceLine(NodeId(n));
        (void)graph.ops.sourceText(NodeId(n));
    }
    for (const GraphViewState& view : {defaultView(graph), everything, GraphViewState{}}) {
        const VisibleGraph visible = visibleGraph(graph, view);
        if (visible.nodes.size() > kMaxVisibleNodes + 100) std::abort(); // a picture is bounded
        const LayoutRequest request = layoutRequest(visible);
        const LayoutResult layout = layeredLayout(request);
        if (layout.boxes.size() != visible.nodes.size() || layout.edges.size() != visible.edges.size()) std::abort();
        (void)dotText(request, &visible);
        (void)hashOf(request);
    }
    return 0;
}
