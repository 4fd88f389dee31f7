// SPDX-License-Identifier: Apache-2.0
// The graph JSON of a torch.export archive, and every region that is made of it.
#include "core/io/pt2/pt2_reader.h"
#include "core/region/build.h"
#include "core/region/region_json.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

using namespace fusescope;

// What is made holds, and survives being written.
void look(const Result<Region>& region) {
    if (!region) {
        if (region.error().message().empty()) std::abort();
        return;
    }
    if (!checkRegion(*region)) std::abort();
    const std::string text = regionJson(*region);
    const Result<Region> again = regionFromJson(text);
    if (!again || regionJson(*again) != text) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Result<GraphPtr> read = readPt2Json({reinterpret_cast<const char*>(data), size});
    if (!read) return 0;
    const ModelGraph& graph = **read;
    std::vector<NodeId> all, some;
    for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n) {
        all.emplace_back(n);
        if (n % 3 != 0) some.emplace_back(n);
        if (n < 50) look(regionOfNodes(graph, std::vector<NodeId>{NodeId(n)}));
    }
    look(regionOfNodes(graph, all));
    look(regionOfNodes(graph, some));
    Progress progress;
    const Result<AnalysisPtr> analysis = analyze(nullptr, *read, {}, progress);
    if (!analysis) return 0;
    std::vector<std::string> ids;
    for (const Finding& finding : (*analysis)->findings) {
        ids.push_back(finding.id);
        for (std::size_t i = 0; i < finding.instances.size() && i < 20; ++i)
            look(regionOfInstance(**analysis, finding, i));
        for (const RegionClass& one : distinctInstances(**analysis, finding))
            if (one.instance >= finding.instances.size()) std::abort();
    }
    look(regionOfModule(**analysis, "", ids));
    for (std::size_t m = 0; m < graph.modules.modules.size() && m < 20; ++m)
        look(regionOfModule(**analysis, graph.modules.modules[m].path, ids));
    return 0;
}
