// SPDX-License-Identifier: Apache-2.0
// Regions as JSON, one a line, for looking at them and for checking them with PyTorch:
//   region_dump FILE...            the distinct instances of every finding, then every layer with all fusions
//   region_dump --catalogue        every pattern's form as for a trace, at small sizes
// What cannot be made is said on stderr.
#include "core/region/build.h"
#include "core/region/region_json.h"
#include "tests/core/region/sizes.h"

#include <cstdio>
#include <string>

namespace {

using namespace fusescope;

void print(const std::string& what, const Result<Region>& region) {
    if (region)
        std::printf("%s\n", regionJson(*region).c_str());
    else
        std::fprintf(stderr, "%s: %s\n", what.c_str(), region.error().message().c_str());
}

void printFindings(const Analysis& analysis) {
    std::vector<std::string> all;
    for (const Finding& finding : analysis.findings) {
        all.push_back(finding.id);
        for (const RegionClass& one : distinctInstances(analysis, finding))
            print(finding.id + "#" + std::to_string(one.instance), regionOfInstance(analysis, finding, one.instance));
    }
    if (analysis.graph == nullptr) return;
    for (const Finding& finding : analysis.findings) { // the same nodes, and those between the products, as selections
        if (finding.instances.empty() || !finding.instances[0].from_graph) continue;
        std::vector<NodeId> between;
        for (const NodeId node : finding.instances[0].nodes)
            for (const std::string_view op : {"aten::mul", "aten::add", "aten::softmax", "aten::_softmax", "aten::to"})
                if (analysis.graph->ops.op(node) == op) between.push_back(node);
        print("selection of " + finding.id, regionOfNodes(*analysis.graph, finding.instances[0].nodes));
        if (finding.pattern == Pattern::Attention && !between.empty())
            print("selection in " + finding.id, regionOfNodes(*analysis.graph, between));
    }
    print("qk_norm_rope", regionOfInstance(analysis, test::qkNormRope(analysis), 0));
    for (const Module& module : analysis.graph->modules.modules) {
        const std::string& type = module.type;
        if (type.size() > 12 && type.substr(type.size() - 12) == "DecoderLayer")
            print(module.path, regionOfModule(analysis, module.path, all));
    }
    print("model", regionOfModule(analysis, "", all));
}

} // namespace

int main(int argc, char** argv) {
    std::vector<std::string> files(argv + 1, argv + argc);
    if (files.size() == 1 && files[0] == "--catalogue") {
        const Analysis nothing;
        for (std::size_t p = 0; p < kPatternCount; ++p) {
            const auto pattern = static_cast<Pattern>(p);
            const Finding finding = test::findingOf(pattern, test::smallSizes(pattern));
            print(finding.id, regionOfInstance(nothing, finding, 0));
            Finding fused = finding;
            fused.instances[0].state = FusionState::Fused;
            if (pattern == Pattern::Attention) print("SDPA", regionOfInstance(nothing, fused, 0));
        }
        return 0;
    }
    Progress progress;
    const Result<AnalysisPtr> analysis = analyzeFiles(files, {}, progress);
    if (!analysis) {
        std::fprintf(stderr, "%s\n", analysis.error().message().c_str());
        return 3;
    }
    printFindings(**analysis);
    return 0;
}
