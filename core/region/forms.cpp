// SPDX-License-Identifier: Apache-2.0
#include "core/region/forms.h"

namespace fusescope::region {

using fusion::OpCode;

std::vector<NodeId> Part::all(OpCode code) const {
    std::vector<NodeId> out;
    for (const NodeId node : part_.nodes)
        if (g.code(node) == code) out.push_back(node);
    return out;
}

NodeId Part::first(OpCode code) const {
    for (const NodeId node : part_.nodes)
        if (g.code(node) == code) return node;
    return {};
}

NodeId Part::userOf(ValueId value, OpCode code) const {
    for (const NodeId user : g.users(value))
        if (has(user) && g.code(user) == code) return user;
    return {};
}

ValueId Part::other(NodeId node, ValueId one) const {
    const ValueId a = g.in(node, 0), b = g.in(node, 1);
    if (!a.valid() || !b.valid()) return {};
    if (g.base(a) == g.base(one)) return b;
    return g.base(b) == g.base(one) ? a : ValueId{};
}

RegionRef Part::step(std::string op, std::string overload, std::vector<RegionArg> args, std::uint32_t outputs) {
    std::string label = op.substr(op.find("::") + 2);
    form.steps.push_back({std::move(op), std::move(overload), std::move(args), outputs, std::move(label)});
    return {static_cast<std::int32_t>(form.steps.size()) - 1, 0};
}

RegionRef Part::as(RegionRef ref, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& wanted) {
    if (sizes == wanted) return ref;
    return step("aten::reshape", "", {arg("self", ref), arg("shape", wanted)});
}

RegionRef Part::transposed(RegionRef ref, std::int64_t a, std::int64_t b) {
    return step("aten::transpose", "int", {arg("self", ref), arg("dim0", a), arg("dim1", b)});
}

Form fusedForm(Pattern pattern, const fusion::GraphFlow& graph, const Fills& fills, const Subgraph& nodes) {
    Part part(graph, nodes);
    bool made = false;
    switch (pattern) {
    case Pattern::RmsNorm: made = rmsNormForm(part); break;
    case Pattern::AddRmsNorm: made = addRmsNormForm(part); break;
    case Pattern::QkNormRope: made = qkNormRopeForm(part); break;
    case Pattern::Rope: made = ropeForm(part); break;
    case Pattern::SwiGlu: made = swigluForm(part); break;
    case Pattern::QkvProjection: made = qkvProjectionForm(part); break;
    case Pattern::Attention: made = attentionForm(part, fills); break;
    case Pattern::LinearCrossEntropy: made = linearCrossEntropyForm(part); break;
    case Pattern::Optimizer: made = part.refuse("the optimizer's step is PyTorch's own fused one"); break;
    case Pattern::PointwiseChain: made = part.refuse("no operator of the catalogue fits"); break;
    }
    if (made && !completeForm(graph, nodes, part.form)) part.refuse(part.form.reason);
    return std::move(part.form);
}

} // namespace fusescope::region
