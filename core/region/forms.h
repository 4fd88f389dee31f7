// SPDX-License-Identifier: Apache-2.0
// The fused operator of a pattern for some nodes of a graph, with the views that make its results those of the nodes.
// The walk is the matchers'; where the nodes do what the operator cannot, the form says why. Private to core/region.
#pragma once

#include "core/fusion/finding.h"
#include "core/region/fills.h"

#include <initializer_list>

namespace fusescope::region {

// The nodes of a pattern, and steps in the making.
class Part {
public:
    Part(const fusion::GraphFlow& graph, const Subgraph& part) : g(graph), part_(part) {}

    const fusion::GraphFlow& g;
    Form form;

    [[nodiscard]] bool has(NodeId node) const { return part_.has(node); }
    [[nodiscard]] const std::vector<NodeId>& nodes() const { return part_.nodes; }
    [[nodiscard]] std::vector<NodeId> all(fusion::OpCode code) const; // in order
    [[nodiscard]] NodeId first(fusion::OpCode code) const;            // invalid if there is none
    // The part's node of that code that reads a value (through views), invalid if there is none.
    [[nodiscard]] NodeId userOf(ValueId value, fusion::OpCode code) const;
    // The other operand of a node that reads `one` (through views).
    [[nodiscard]] ValueId other(NodeId node, ValueId one) const;

    // Always false.
    bool refuse(std::string why) {
        form.steps.clear();
        form.makes.clear();
        form.reason = std::move(why);
        return false;
    }
    RegionRef step(std::string op, std::string overload, std::vector<RegionArg> args, std::uint32_t outputs = 1);
    // A value, or its view under other sizes.
    RegionRef as(RegionRef ref, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& wanted);
    RegionRef as(ValueId value, const std::vector<std::int64_t>& wanted) {
        return as(refTo(value), g.meta(value).sizes, wanted);
    }
    RegionRef transposed(RegionRef ref, std::int64_t a, std::int64_t b);
    // The form makes this value; the step's result has these sizes.
    void makes(ValueId value, RegionRef ref, const std::vector<std::int64_t>& sizes) {
        form.makes.emplace_back(value, as(ref, sizes, g.meta(value).sizes));
    }

private:
    const Subgraph& part_;
};

[[nodiscard]] inline RegionArg arg(const char* name, RegionArgValue value) { return {name, false, std::move(value)}; }

// True: the form is made. False: form.reason says why not. Each in a file with its kin.
bool rmsNormForm(Part& part); // forms_norm.cpp
bool addRmsNormForm(Part& part);
bool ropeForm(Part& part); // forms_heads.cpp
bool qkNormRopeForm(Part& part);
bool attentionForm(Part& part, const Fills& fills); // form_attention.cpp
bool swigluForm(Part& part);                        // forms_matmul.cpp
bool qkvProjectionForm(Part& part);
bool linearCrossEntropyForm(Part& part);

// What a norm of the part computes; forms_norm.cpp.
struct Norm {
    ValueId x, weight, result; // weight: invalid if there is none
    double eps = 0;
};
// root: its rsqrt. Returns "" or why it is none.
[[nodiscard]] std::string normAt(const Part& part, NodeId root, Norm& out);

// The nodes of an instance, with what belongs to it although the matcher leaves it out: a cast that others read too,
// views through which it reads one value twice. pattern_part.cpp.
[[nodiscard]] Result<Subgraph> patternPart(const fusion::GraphFlow& graph, const Instance& instance);

// The form of a pattern with everything that leaves its nodes; without steps it has a reason.
[[nodiscard]] Form fusedForm(Pattern pattern, const fusion::GraphFlow& graph, const Fills& fills,
                             const Subgraph& nodes);

} // namespace fusescope::region
