// SPDX-License-Identifier: Apache-2.0
// The last projection and the loss over its logits: logits as large as tokens x vocabulary need never be kept.
#include "core/fusion/matchers.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

constexpr double kSmallestVocabulary = 1024; // below that the logits are no burden

// --- graph ----------------------------------------------------------------------------------------------------------

// nll_loss(log_softmax(x)) or cross_entropy_loss(x): x's nodes down to the projection.
std::string lossAt(const GraphFlow& g, NodeId loss, Match& match) {
    match.nodes.push_back(loss);
    NodeId node = g.maker(g.in(loss, 0));
    std::vector<NodeId> inner;
    for (int guard = 0; guard < 12 && node.valid(); ++guard) {
        const OpCode code = g.code(node);
        if (code == OpCode::Linear || code == OpCode::Matmul) {
            inner.push_back(node);
            match.nodes.insert(match.nodes.end(), inner.begin(), inner.end());
            const TensorMeta& logits = g.meta(g.out(node));
            if (lastSize(logits) < kSmallestVocabulary) return "the vocabulary is small";
            const std::string leak = g.leak(inner, match.nodes);
            if (!leak.empty()) return leak;
            sortNodes(match.nodes);
            match.shape.dtype = logits.dtype;
            match.shape.width = lastSize(logits);
            match.shape.rows = elements(logits) / match.shape.width;
            match.shape.hidden = lastSize(g.meta(g.in(node, 0)));
            match.shape.sizes = g.meta(g.in(node, 0)).sizes;
            return {};
        }
        if (code != OpCode::LogSoftmax && code != OpCode::Cast && code != OpCode::Slice) break;
        inner.push_back(node);
        node = g.maker(g.in(node, 0));
    }
    return " ";
}

// --- trace ----------------------------------------------------------------------------------------------------------

double vocabularyOf(const StepOp& op) {
    const TensorMeta* logits = tensorArg(op, 0);
    return logits == nullptr ? 0 : lastSize(*logits);
}

bool isCompiledLoss(std::string_view name) {
    return name.substr(0, 7) == "triton_" && name.find("log_softmax") != std::string_view::npos &&
           name.find("backward") == std::string_view::npos;
}

void setShape(const StepOps& trace, const StepOp& linear, double vocabulary, Match& match) {
    const TensorMeta* x = tensorArg(linear, trace.nameOf(linear) == "aten::addmm" ? 1 : 0);
    if (x == nullptr || vocabulary <= 0) return;
    match.shape.dtype = x->dtype;
    match.shape.hidden = lastSize(*x);
    match.shape.sizes = x->sizes;
    match.shape.rows = match.shape.hidden > 0 ? elements(*x) / match.shape.hidden : 0;
    match.shape.width = vocabulary;
}

double outputsOf(const StepOps& trace, const StepOp& linear) {
    const std::string_view name = trace.nameOf(linear);
    const TensorMeta* w = tensorArg(linear, name == "aten::addmm" ? 2 : 1);
    if (w == nullptr || w->sizes.size() < 2) return 0;
    return static_cast<double>(name == "aten::linear" ? w->sizes.front() : w->sizes.back());
}

// loss: first position of the loss itself; last: its last.
bool lossAt(const StepOps& trace, std::size_t loss, std::size_t last, Match& match) {
    const double vocabulary = vocabularyOf(*trace.at(loss));
    std::vector<std::size_t> before;
    for (std::size_t back = 1; back <= loss && back <= 10; ++back) {
        const std::size_t i = loss - back;
        const StepOp& op = *trace.at(i);
        if (op.code == OpCode::Linear || op.code == OpCode::Matmul) {
            if (vocabulary > 0 && (outputsOf(trace, op) != vocabulary || vocabulary < kSmallestVocabulary))
                return false;
            takeOne(trace, i, match);
            for (std::size_t k = before.size(); k-- > 0;) takeOne(trace, before[k], match);
            for (std::size_t k = loss; k <= last; ++k) takeOne(trace, k, match);
            setShape(trace, op, vocabulary, match);
            return true;
        }
        // Casts and copies of the logits are part of it; work on the labels in between is not.
        const bool on_logits = vocabulary > 0 && vocabularyOf(op) == vocabulary;
        if ((op.code == OpCode::Cast || op.code == OpCode::View) && (on_logits || op.args.empty())) before.push_back(i);
    }
    return false;
}

bool compiledLossAt(const StepOps& trace, std::size_t first, std::size_t last, Match& match) {
    for (std::size_t back = 1; back <= first && back <= 4; ++back) {
        const StepOp& op = *trace.at(first - back);
        if (op.code != OpCode::Linear && op.code != OpCode::Matmul) continue;
        const double vocabulary = outputsOf(trace, op);
        if (vocabulary < kSmallestVocabulary) return false;
        takeOne(trace, first - back, match);
        for (std::size_t k = first; k <= last; ++k) takeOne(trace, k, match);
        setShape(trace, op, vocabulary, match);
        match.state = FusionState::Partial;
        match.note = "the loss is compiled, but the logits are still written and read";
        return true;
    }
    return false;
}

} // namespace

void matchLinearCrossEntropy(const GraphFlow& graph, Matches& out) {
    for (std::size_t n = 0; n < graph.size(); ++n) {
        const OpCode code = graph.code(NodeId(n));
        if (code != OpCode::CrossEntropy && code != OpCode::NllLoss) continue;
        Match match;
        match.pattern = Pattern::LinearCrossEntropy;
        const std::string reason = lossAt(graph, NodeId(n), match);
        if (reason.empty())
            out.found.push_back(std::move(match));
        else if (reason != " ")
            out.misses.push_back({Pattern::LinearCrossEntropy, graph.name(NodeId(n)), reason});
    }
}

void matchLinearCrossEntropy(const StepOps& trace, Matches& out) {
    for (std::size_t i = 0; i < trace.work.size(); ++i) {
        Match match;
        match.pattern = Pattern::LinearCrossEntropy;
        std::size_t last = i;
        bool found = false;
        if (trace.is(i, OpCode::CrossEntropy)) {
            found = lossAt(trace, i, last, match);
        } else if (trace.is(i, OpCode::LogSoftmax) || (trace.by_kernel_name && trace.is(i, OpCode::Softmax))) {
            if (!trace.is(i + 1, OpCode::NllLoss)) continue;
            last = i + 1;
            found = lossAt(trace, i, last, match);
        } else if (isCompiledLoss(trace.nameOf(*trace.at(i)))) {
            while (last + 1 < trace.work.size() && isCompiledLoss(trace.nameOf(*trace.at(last + 1)))) ++last;
            found = compiledLossAt(trace, i, last, match);
        }
        if (found) out.found.push_back(std::move(match));
        i = last;
    }
}

} // namespace fusescope::fusion
