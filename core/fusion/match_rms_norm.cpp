// SPDX-License-Identifier: Apache-2.0
// RMSNorm as HuggingFace writes it: cast up, square, mean over the last dimension, + eps, rsqrt, scale, cast down,
// weight.
#include "core/fusion/matchers.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

bool lowPrecision(DType type) { return type == DType::BFloat16 || type == DType::Float16; }

std::string sizeText(const TensorMeta& meta) { return std::string(shortName(meta.dtype)); }

// --- graph ----------------------------------------------------------------------------------------------------------

class GraphNorm {
public:
    explicit GraphNorm(const GraphFlow& graph) : g_(graph) {}

    // root: the rsqrt. Fills match or miss.
    bool find(NodeId root) {
        if (!statistics(root)) return false;
        if (!checkStatistics()) return true;
        if (!scaled(root)) return true;
        if (!weighted() || !checkTypes()) return true;
        finish();
        return true;
    }
    std::string reason; // of a near miss; empty: match holds
    Match match;

private:
    // rsqrt <- add eps <- mean <- square <- x
    bool statistics(NodeId root) {
        rsqrt_ = root;
        NodeId below = g_.maker(g_.in(root, 0));
        if (g_.code(below) == OpCode::Add) {
            add_ = below;
            below = g_.maker(g_.in(below, 0));
        }
        if (g_.code(below) != OpCode::Mean) return false;
        mean_ = below;
        square_ = g_.maker(g_.in(mean_, 0));
        if (g_.code(square_) == OpCode::Mul) {
            if (g_.base(g_.in(square_, 0)) != g_.base(g_.in(square_, 1)) || !g_.in(square_, 1).valid()) return false;
        } else if (g_.code(square_) != OpCode::Pow) {
            return false;
        }
        wide_ = g_.base(g_.in(square_, 0));
        return wide_.valid();
    }

    bool checkStatistics() {
        if (g_.code(square_) == OpCode::Pow && g_.ops().op(square_) != "aten::square" &&
            g_.scalar(square_, "exponent").value_or(2) != 2)
            return miss(g_.name(square_) + " does not square");
        const double rank = static_cast<double>(g_.meta(g_.in(square_, 0)).sizes.size());
        const auto dim = g_.scalar(mean_, "dim");
        if (!dim || (*dim != -1 && *dim != rank - 1))
            return miss(g_.name(mean_) + " does not average over the last dimension alone");
        if (!add_.valid()) return miss("no eps is added before " + g_.name(rsqrt_));
        if (g_.in(add_, 1).valid()) return miss(g_.name(add_) + " adds a tensor, not a constant eps");
        const auto eps = g_.scalar(add_, "other");
        if (!eps || *eps <= 0 || *eps > 0.01) return miss(g_.name(add_) + " adds no small positive eps");
        return true;
    }

    // x * rsqrt, perhaps cast back
    bool scaled(NodeId root) {
        scale_ = g_.onlyUser(g_.out(root));
        if (!scale_.valid()) return miss(g_.name(root) + " has several users");
        if (g_.code(scale_) != OpCode::Mul) return miss(g_.name(root) + " does not scale its input");
        const ValueId a = g_.base(g_.in(scale_, 0)), b = g_.base(g_.in(scale_, 1));
        if (a != wide_ && b != wide_) return miss(g_.name(scale_) + " scales another tensor than the one averaged");
        last_ = scale_;
        const NodeId cast = g_.maker(wide_);
        if (g_.code(cast) == OpCode::Cast) {
            up_ = cast;
            x_ = g_.in(cast, 0);
        } else {
            x_ = wide_;
        }
        const std::vector<NodeId> users = g_.users(g_.out(scale_));
        for (const NodeId next : users)
            if (g_.code(next) == OpCode::Cast) down_ = next;
        if (down_.valid()) last_ = down_;
        return onlyNext(scale_, down_);
    }

    // y = w * x: with it the norm ends; a norm without weight ends before.
    bool weighted() {
        for (const NodeId next : g_.users(g_.out(last_))) {
            if (g_.code(next) != OpCode::Mul) continue;
            for (std::size_t side = 0; side < 2; ++side) {
                const ValueId w = g_.in(next, side);
                if (!w.valid() || g_.base(g_.in(next, 1 - side)) != g_.out(last_)) continue;
                const TensorMeta& meta = g_.meta(w);
                if (meta.sizes.size() != 1 || lastSize(meta) != lastSize(squared()) || !g_.isWeight(w)) continue;
                weight_ = w;
                apply_ = next;
            }
        }
        return onlyNext(last_, apply_);
    }

    // A result in the middle of the norm (next is the norm's own) may go nowhere else.
    bool onlyNext(NodeId node, NodeId next) {
        if (!next.valid()) return true;
        const std::string why = g_.leak({node}, {next});
        return why.empty() || miss(why);
    }

    bool checkTypes() {
        const DType in = g_.meta(x_).dtype;
        if (lowPrecision(g_.meta(wide_).dtype))
            return miss("the mean of squares is taken in " + std::string(shortName(g_.meta(wide_).dtype)) +
                        ", fused kernels take it in f32");
        if (down_.valid() && g_.meta(g_.out(down_)).dtype != in)
            return miss(g_.name(down_) + " returns " + sizeText(g_.meta(g_.out(down_))) + " for " +
                        sizeText(g_.meta(x_)) + " input");
        if (weight_.valid() && g_.meta(weight_).dtype != in)
            return miss("the weight is " + sizeText(g_.meta(weight_)) + " and the input " + sizeText(g_.meta(x_)) +
                        ": a fused kernel would return another type");
        return true;
    }

    void finish() {
        std::vector<NodeId> all{square_, mean_, add_, rsqrt_, scale_};
        if (down_.valid()) all.push_back(down_);
        if (apply_.valid()) all.push_back(apply_);
        // The cast up stays outside when others read its result too: the kernel then casts for itself.
        if (up_.valid()) {
            std::vector<NodeId> with = all;
            with.push_back(up_);
            if (g_.leak({up_}, with).empty()) all = with;
        }
        std::vector<NodeId> inner = all;
        const NodeId result = apply_.valid() ? apply_ : last_;
        inner.erase(std::find(inner.begin(), inner.end(), result));
        reason = g_.leak(inner, all);
        if (!reason.empty()) return;
        sortNodes(all);
        const TensorMeta& meta = squared();
        match.pattern = Pattern::RmsNorm;
        match.nodes = all;
        match.shape.dtype = g_.meta(x_).dtype;
        match.shape.width = lastSize(meta);
        match.shape.sizes = meta.sizes;
        match.shape.eps = g_.scalar(add_, "other").value_or(0);
        match.shape.rows = match.shape.width > 0 ? elements(meta) / match.shape.width : 0;
        if (!weight_.valid()) match.note = "no weight";
    }

    // What is averaged, in the shape in which it is: without a cast, views lie between it and wide_.
    [[nodiscard]] const TensorMeta& squared() const { return g_.meta(g_.in(square_, 0)); }

    bool miss(std::string why) {
        reason = std::move(why);
        return false;
    }

    const GraphFlow& g_;
    NodeId rsqrt_, add_, mean_, square_, scale_, up_, down_, apply_, last_;
    ValueId wide_, x_, weight_;
};

// --- trace ----------------------------------------------------------------------------------------------------------

// Row statistics of `meta`: the same sizes with 1 for the last.
bool isStatisticOf(const TensorMeta* small, const TensorMeta* meta) {
    if (small == nullptr || meta == nullptr) return true; // shapes not recorded
    if (small->sizes.size() != meta->sizes.size() || small->sizes.empty()) return false;
    return small->sizes.back() == 1 && std::equal(small->sizes.begin(), small->sizes.end() - 1, meta->sizes.begin());
}

bool sameOrUnknown(const TensorMeta* a, const TensorMeta* b) {
    return a == nullptr || b == nullptr || a->sizes == b->sizes;
}

std::optional<double> recordedNumber(const StepOp& op, std::size_t i) {
    if (i >= op.args.size()) return std::nullopt;
    return numberIn(op.args[i].text);
}

// mean: work position of the mean. Returns a reason when it only looks like RMSNorm; found tells whether it is one.
std::string normAt(const StepOps& trace, std::size_t mean, Match& match, bool& found) {
    found = false;
    if (mean == 0) return {};
    const StepOp& square = *trace.at(mean - 1);
    const TensorMeta* wide = tensorArg(square, 0);
    const bool multiplies = square.code == OpCode::Mul && wide != nullptr && tensorArg(square, 1) != nullptr &&
                            wide->sizes == tensorArg(square, 1)->sizes;
    if (square.code != OpCode::Pow && !multiplies) return {};
    if (trace.is(mean + 1, OpCode::Rsqrt)) return "no eps is added before rsqrt";
    if (!trace.is(mean + 1, OpCode::Add) || !trace.is(mean + 2, OpCode::Rsqrt)) return {};
    if (square.code == OpCode::Pow && recordedNumber(square, 1).value_or(2) != 2) return "pow does not square";
    const StepOp &average = *trace.at(mean), &eps = *trace.at(mean + 1);
    if (!sameOrUnknown(tensorArg(average, 0), wide)) return {};
    if (!isStatisticOf(tensorArg(eps, 0), wide)) return "mean does not average over the last dimension alone";
    if (!mayBeScalarOp(eps)) return "a tensor is added before rsqrt, not a constant eps";
    const double value = recordedNumber(eps, 1).value_or(1e-6);
    if (value <= 0 || value > 0.01) return "no small positive eps is added before rsqrt";

    std::size_t last = mean + 3;
    if (!trace.is(last, OpCode::Mul)) return "rsqrt does not scale its input";
    const StepOp& scale = *trace.at(last);
    const TensorMeta *left = tensorArg(scale, 0), *right = tensorArg(scale, 1);
    if (!(sameOrUnknown(left, wide) && isStatisticOf(right, wide)) &&
        !(sameOrUnknown(right, wide) && isStatisticOf(left, wide)))
        return "rsqrt scales another tensor than the one averaged";

    // Cast up before the square.
    std::size_t first = mean - 1;
    const TensorMeta* input = wide;
    if (first > 0 && trace.is(first - 1, OpCode::Cast)) {
        const TensorMeta* cast = tensorArg(*trace.at(first - 1), 0);
        const bool widens =
            cast == nullptr || wide == nullptr || (lowPrecision(cast->dtype) && !lowPrecision(wide->dtype));
        if (widens && sameOrUnknown(cast, wide)) {
            first -= 1;
            input = cast;
        }
    }
    if (wide != nullptr && lowPrecision(wide->dtype))
        return "the mean of squares is taken in " + std::string(shortName(wide->dtype)) +
               ", fused kernels take it in f32";

    bool cast_back = false;
    if (first != mean - 1 && trace.is(last + 1, OpCode::Cast) &&
        sameOrUnknown(tensorArg(*trace.at(last + 1), 0), wide)) {
        last += 1;
        cast_back = true;
    }
    if (trace.is(last + 1, OpCode::Mul)) {
        const StepOp& apply = *trace.at(last + 1);
        const TensorMeta *a = tensorArg(apply, 0), *b = tensorArg(apply, 1);
        if (a != nullptr && b != nullptr && a->sizes.size() > b->sizes.size()) std::swap(a, b);
        const bool fits =
            a == nullptr || b == nullptr ||
            (a->sizes.size() == 1 && wide != nullptr && lastSize(*a) == lastSize(*wide) && b->sizes == wide->sizes);
        if (fits) {
            if (a != nullptr && input != nullptr && a->dtype != input->dtype && (cast_back || b->dtype == input->dtype))
                return "the weight is " + sizeText(*a) + " and the input " + sizeText(*input) +
                       ": a fused kernel would return another type";
            last += 1;
        } else {
            match.note = "no weight";
        }
    } else {
        match.note = "no weight";
    }
    take(trace, first, last, match);
    match.pattern = Pattern::RmsNorm;
    match.shape.eps = value;
    if (wide != nullptr && input != nullptr) {
        match.shape.dtype = input->dtype;
        match.shape.width = lastSize(*wide);
        match.shape.sizes = wide->sizes;
        match.shape.rows = match.shape.width > 0 ? elements(*wide) / match.shape.width : 0;
    }
    found = true;
    return {};
}

} // namespace

void matchRmsNorm(const GraphFlow& graph, Matches& out) {
    for (std::size_t n = 0; n < graph.size(); ++n) {
        if (graph.code(NodeId(n)) != OpCode::Rsqrt) continue;
        GraphNorm norm(graph);
        if (!norm.find(NodeId(n))) continue;
        if (norm.reason.empty())
            out.found.push_back(std::move(norm.match));
        else
            out.misses.push_back({Pattern::RmsNorm, graph.name(NodeId(n)), norm.reason});
    }
}

void matchRmsNorm(const StepOps& trace, Matches& out) {
    for (std::size_t i = 0; i < trace.work.size(); ++i) {
        if (!trace.is(i, OpCode::Mean)) continue;
        Match match;
        bool found = false;
        std::string reason = normAt(trace, i, match, found);
        if (found)
            out.found.push_back(std::move(match));
        else if (!reason.empty())
            out.misses.push_back({Pattern::RmsNorm, trace.describe(*trace.at(i)), reason});
    }
}

} // namespace fusescope::fusion
