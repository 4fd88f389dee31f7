// SPDX-License-Identifier: Apache-2.0
#include "core/region/assemble.h"

#include <algorithm>

namespace fusescope::region {

Result<Region> assemble(const fusion::GraphFlow& graph, const Fills& fills, const Subgraph& part,
                        std::span<const Form> fused) {
    Region region;
    const Result<std::vector<Form>> forms = formsOf(graph, part.nodes);
    if (!forms) return forms.error();
    std::vector<ValueId> inputs;
    Result<RegionProgram> baseline = programOf(graph, *forms, part.outputs, inputs, false);
    if (!baseline) return std::move(baseline).error();
    region.baseline = std::move(*baseline);
    if (inputs.size() > kMaxRegionInputs)
        return Error{ErrorCode::Limit, "at most " + std::to_string(kMaxRegionInputs) + " values that enter",
                     std::to_string(inputs.size()), "region"};
    for (const ValueId value : inputs) {
        Result<RegionInput> input = fills.inputOf(value, part);
        if (!input) return std::move(input).error();
        region.inputs.push_back(std::move(*input));
    }
    if (!fused.empty()) {
        Result<RegionProgram> program = programOf(graph, fused, part.outputs, inputs, true);
        if (program)
            region.fused = std::move(*program);
        else
            region.reason = program.error().message();
    }
    const bool wanted = std::any_of(region.inputs.begin(), region.inputs.end(),
                                    [](const RegionInput& input) { return input.gradient; });
    const bool given = std::any_of(part.outputs.begin(), part.outputs.end(),
                                   [&](ValueId value) { return fills.wantsGradient(value); });
    region.backward = wanted && given && fills.trains();
    return region;
}

void forwardWhere(Region& region, const std::string& why) {
    if (why.empty() || !region.backward) return;
    region.backward = false;
    region.reason += (region.reason.empty() ? "" : "; ") + why;
}

bool stepTrains(const Analysis& analysis) {
    if (analysis.trace == nullptr) return true;
    return std::any_of(analysis.link.kernels.begin(), analysis.link.kernels.end(),
                       [](const WorkLink& work) { return work.direction == Direction::Backward; });
}

} // namespace fusescope::region
