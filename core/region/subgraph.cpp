// SPDX-License-Identifier: Apache-2.0
#include "core/region/subgraph.h"

#include <algorithm>

namespace fusescope::region {
namespace {

using fusion::GraphFlow;
using fusion::OpCode;

constexpr std::size_t kMostAbsorbed = 256;

bool endsWith(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The tensors (and symbols) among a node's arguments.
std::vector<ValueId> operandsOf(const OpGraph& ops, NodeId node) {
    std::vector<ValueId> all;
    for (const GraphArg& arg : ops.argsOf(node))
        for (const ValueId value : ops.valuesOf(arg)) all.push_back(value);
    return all;
}

// Asserts, and arithmetic with sizes.
bool computesNothing(const GraphFlow& graph, NodeId node) {
    if (graph.code(node) == OpCode::Ignored) return true;
    for (std::uint32_t o = 0; o < graph.ops().at(node).outputs; ++o)
        if (graph.ops().at(graph.ops().output(node, o)).kind != ValueKind::Symbol) return false;
    return true;
}

class Selection {
public:
    Selection(const GraphFlow& graph, std::span<const NodeId> nodes) : graph_(graph), in_(graph.size(), false) {
        for (const NodeId node : nodes)
            if (node.valid() && node.index() < in_.size()) in_[node.index()] = true;
    }

    [[nodiscard]] bool has(NodeId node) const { return node.valid() && node.index() < in_.size() && in_[node.index()]; }

    // Asserts, and sizes whose users are gone: from the last to the first.
    void dropIdle() {
        const OpGraph& ops = graph_.ops();
        for (std::size_t i = in_.size(); i-- > 0;) {
            const NodeId node(i);
            if (!in_[i] || !idle(node)) continue;
            bool used = false;
            for (std::uint32_t o = 0; o < ops.at(node).outputs; ++o) {
                for (const NodeId user : ops.consumersOf(ops.output(node, o))) used = used || has(user);
                used = used || ops.at(ops.output(node, o)).is_graph_output;
            }
            if (!used) in_[i] = false;
        }
    }

    // What nobody uses, where something else is used: code that tracing left behind.
    void dropDead() {
        const OpGraph& ops = graph_.ops();
        std::vector<bool> keep(in_.size(), false);
        for (std::size_t i = in_.size(); i-- > 0;) {
            if (!in_[i]) continue;
            for (std::uint32_t o = 0; o < ops.nodes[i].outputs && !keep[i]; ++o) {
                const ValueId value = ops.output(NodeId(i), o);
                keep[i] = ops.at(value).is_graph_output;
                for (const NodeId user : ops.consumersOf(value))
                    keep[i] = keep[i] || (has(user) ? keep[user.index()] : !idle(user));
            }
        }
        if (std::find(keep.begin(), keep.end(), true) != keep.end()) in_ = std::move(keep);
    }

    // A node whose operand left the selection and came back; the outside nodes that it came through.
    [[nodiscard]] NodeId comesBack(std::vector<NodeId>& through) const {
        std::vector<bool> behind(in_.size(), false); // outside, and made of something inside
        for (std::size_t i = 0; i < in_.size(); ++i) {
            bool from_inside = false, from_behind = false;
            ValueId culprit;
            for (const ValueId value : operandsOf(graph_.ops(), NodeId(i))) {
                const NodeId maker = graph_.producer(value);
                if (!maker.valid()) continue;
                from_inside = from_inside || in_[maker.index()];
                if (!behind[maker.index()]) continue;
                from_behind = true;
                if (!culprit.valid()) culprit = value;
            }
            if (!in_[i]) {
                behind[i] = from_inside || from_behind;
            } else if (from_behind) {
                std::vector<NodeId> open{graph_.producer(culprit)};
                while (!open.empty() && through.size() < kMostAbsorbed) {
                    const NodeId node = open.back();
                    open.pop_back();
                    if (std::find(through.begin(), through.end(), node) != through.end()) continue;
                    through.push_back(node);
                    for (const ValueId value : operandsOf(graph_.ops(), node))
                        if (const NodeId maker = graph_.producer(value); maker.valid() && behind[maker.index()])
                            open.push_back(maker);
                }
                return NodeId(i);
            }
        }
        return {};
    }

    void add(const std::vector<NodeId>& nodes) {
        for (const NodeId node : nodes) in_[node.index()] = true;
    }

    [[nodiscard]] Subgraph take() const {
        const OpGraph& ops = graph_.ops();
        Subgraph out;
        for (std::size_t i = 0; i < in_.size(); ++i) {
            if (!in_[i]) continue;
            const NodeId node(i);
            out.nodes.push_back(node);
            bool any_used = false;
            std::vector<ValueId> leaving;
            for (std::uint32_t o = 0; o < ops.at(node).outputs; ++o) {
                const ValueId value = ops.output(node, o);
                bool outside = ops.at(value).is_graph_output, inside = false;
                for (const NodeId user : ops.consumersOf(value)) {
                    if (in_[user.index()])
                        inside = true;
                    else if (!idle(user))
                        outside = true;
                }
                any_used = any_used || outside || inside;
                if (outside) leaving.push_back(value);
            }
            if (!any_used && ops.at(node).outputs > 0) leaving.push_back(ops.output(node));
            out.outputs.insert(out.outputs.end(), leaving.begin(), leaving.end());
        }
        return out;
    }

private:
    [[nodiscard]] bool idle(NodeId node) const { return computesNothing(graph_, node); }

    const GraphFlow& graph_;
    std::vector<bool> in_;
};

Error refused(std::string expected, std::string found, std::string where, ErrorCode code = ErrorCode::Unsupported) {
    return {code, std::move(expected), std::move(found), std::move(where)};
}

} // namespace

bool Subgraph::has(NodeId node) const { return std::binary_search(nodes.begin(), nodes.end(), node); }

std::vector<ValueId> inputsOf(const GraphFlow& graph, const Subgraph& part) {
    std::vector<ValueId> inputs;
    std::vector<bool> seen(graph.ops().values.size(), false);
    for (const NodeId node : part.nodes)
        for (const ValueId value : operandsOf(graph.ops(), node)) {
            if (!value.valid() || seen[value.index()] || part.has(graph.producer(value))) continue;
            seen[value.index()] = true;
            inputs.push_back(value);
        }
    return inputs;
}

Result<Subgraph> subgraphOf(const GraphFlow& graph, std::span<const NodeId> nodes, bool absorb_views) {
    Selection selection(graph, nodes);
    selection.dropIdle();
    for (std::size_t round = 0;; ++round) {
        std::vector<NodeId> through;
        const NodeId back = selection.comesBack(through);
        if (!back.valid()) break;
        const bool views =
            std::all_of(through.begin(), through.end(), [&](NodeId node) { return graph.code(node) == OpCode::View; });
        if (!absorb_views || !views || round >= kMostAbsorbed)
            return refused("nodes that enclose their flow",
                           graph.name(back) + ", which reads them again through " + graph.name(through.front()) +
                               " outside",
                           graph.name(back));
        selection.add(through);
    }
    selection.dropDead();
    Subgraph part = selection.take();
    if (part.nodes.empty()) return refused("nodes that compute something", "none", "region", ErrorCode::NotFound);
    if (part.nodes.size() > kMaxRegionSteps)
        return refused("at most " + std::to_string(kMaxRegionSteps) + " nodes", std::to_string(part.nodes.size()),
                       "region", ErrorCode::Limit);
    for (const NodeId node : part.nodes) {
        const std::string_view op = graph.ops().op(node);
        if (!endsWith(op, "_") || endsWith(op, "__") || op == "aten::detach_") continue;
        const NodeId maker = graph.maker(graph.in(node, 0));
        if (!part.has(maker))
            return refused("operators that leave what enters as it is", std::string(op), graph.name(node));
    }
    return part;
}

Result<std::vector<Form>> formsOf(const GraphFlow& graph, std::span<const NodeId> nodes) {
    std::vector<Form> forms;
    forms.reserve(nodes.size());
    for (const NodeId node : nodes) {
        Result<Form> form = formOfNode(graph.ops(), node);
        if (!form) return std::move(form).error();
        forms.push_back(std::move(*form));
    }
    return forms;
}

Result<RegionProgram> programOf(const GraphFlow& graph, std::span<const Form> forms, std::span<const ValueId> outputs,
                                std::vector<ValueId>& inputs, bool fixed) {
    RegionProgram program;
    std::map<std::uint32_t, RegionRef> made;
    for (std::size_t i = 0; i < inputs.size(); ++i) made[inputs[i].value] = {-1, static_cast<std::uint32_t>(i)};
    std::string missing;
    const auto valueRef = [&](ValueId value) {
        const auto found = made.find(value.value);
        if (found != made.end()) return found->second;
        if (fixed && missing.empty()) missing = graph.ops().strings.view(graph.ops().at(value).name);
        const RegionRef ref{-1, static_cast<std::uint32_t>(inputs.size())};
        if (!fixed) inputs.push_back(value);
        return made[value.value] = ref;
    };
    for (const Form& form : forms) {
        const auto base = static_cast<std::int32_t>(program.steps.size());
        const auto place = [&](RegionRef& ref) {
            if (ref.step >= 0)
                ref.step += base;
            else
                ref = valueRef(ValueId(ref.index));
        };
        for (RegionStep step : form.steps) {
            for (RegionArg& arg : step.args) {
                if (auto* ref = std::get_if<RegionRef>(&arg.value)) place(*ref);
                if (auto* refs = std::get_if<RegionRefs>(&arg.value))
                    for (auto& item : *refs)
                        if (auto* one = std::get_if<RegionRef>(&item)) place(*one);
            }
            program.steps.push_back(std::move(step));
        }
        for (const auto& [value, ref] : form.makes) {
            RegionRef placed = ref;
            place(placed);
            made[value.value] = placed;
        }
    }
    for (const ValueId value : outputs) {
        const auto found = made.find(value.value);
        if (found == made.end() && missing.empty()) missing = graph.ops().strings.view(graph.ops().at(value).name);
        program.outputs.push_back(found == made.end() ? RegionRef{} : found->second);
    }
    if (!missing.empty())
        return refused("values that enter the region or are made in it", "%" + missing + ", which is neither",
                       "region");
    return program;
}

namespace {

// Every reference of a step.
template <class One> void eachRef(RegionStep& step, One one) {
    for (RegionArg& arg : step.args) {
        if (auto* ref = std::get_if<RegionRef>(&arg.value)) one(*ref);
        if (auto* refs = std::get_if<RegionRefs>(&arg.value))
            for (auto& item : *refs)
                if (auto* inner = std::get_if<RegionRef>(&item)) one(*inner);
    }
}

// The part's views and casts that these values need, in order; "" or the one that is neither.
std::string viewsFor(const GraphFlow& graph, const Subgraph& part, const Form& form, std::vector<ValueId> open,
                     std::vector<NodeId>& needed) {
    while (!open.empty()) {
        const ValueId value = open.back();
        open.pop_back();
        const NodeId node = graph.producer(value);
        const bool made =
            std::any_of(form.makes.begin(), form.makes.end(), [&](const auto& one) { return one.first == value; });
        if (made || !part.has(node) || std::find(needed.begin(), needed.end(), node) != needed.end()) continue;
        if (graph.code(node) != OpCode::View && graph.code(node) != OpCode::Cast) return graph.name(node);
        needed.push_back(node);
        for (const ValueId operand : operandsOf(graph.ops(), node)) open.push_back(operand);
    }
    fusion::sortNodes(needed);
    return {};
}

// Appends nodes to a form; what it makes already it reads from itself.
std::string append(const GraphFlow& graph, std::span<const NodeId> nodes, Form& form) {
    for (const NodeId node : nodes) {
        Result<Form> one = formOfNode(graph.ops(), node);
        if (!one) return one.error().message();
        const auto base = static_cast<std::int32_t>(form.steps.size());
        for (RegionStep& step : one->steps) {
            eachRef(step, [&](RegionRef& ref) {
                for (const auto& [value, made] : form.makes)
                    if (ref.step < 0 && ref.index == value.value) {
                        ref = made;
                        return;
                    }
            });
            form.steps.push_back(std::move(step));
        }
        for (const auto& [value, ref] : one->makes)
            form.makes.emplace_back(value, RegionRef{ref.step + base, ref.index});
    }
    return {};
}

} // namespace

bool completeForm(const GraphFlow& graph, const Subgraph& part, Form& form) {
    // What the operator reads may be a view that belongs to the nodes.
    std::vector<ValueId> read;
    for (RegionStep& step : form.steps)
        eachRef(step, [&](const RegionRef& ref) {
            if (ref.step < 0) read.emplace_back(ref.index);
        });
    std::vector<NodeId> before, after;
    form.reason = viewsFor(graph, part, Form{}, std::move(read), before);
    if (!form.reason.empty()) {
        form.reason = "the fused operator reads " + form.reason + ", which it is to replace";
        return false;
    }
    Form whole;
    form.reason = append(graph, before, whole);
    if (!form.reason.empty()) return false;
    const auto base = static_cast<std::int32_t>(whole.steps.size());
    const auto place = [&](RegionRef& ref) {
        if (ref.step >= 0) {
            ref.step += base;
            return;
        }
        for (const auto& [value, made] : whole.makes)
            if (ref.index == value.value) {
                ref = made;
                return;
            }
    };
    std::vector<std::pair<ValueId, RegionRef>> makes = form.makes;
    for (auto& [value, ref] : makes) place(ref);
    for (RegionStep& step : form.steps) {
        eachRef(step, place);
        whole.steps.push_back(std::move(step));
    }
    whole.makes.insert(whole.makes.end(), makes.begin(), makes.end());
    form = std::move(whole);

    form.reason = viewsFor(graph, part, form, part.outputs, after);
    if (!form.reason.empty()) {
        form.reason += " is used outside as well, and the fused operator does not return it";
        return false;
    }
    form.reason = append(graph, after, form);
    return form.reason.empty();
}

} // namespace fusescope::region
