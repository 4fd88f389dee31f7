// SPDX-License-Identifier: Apache-2.0
#include "core/fusion/places.h"

#include <algorithm>
#include <set>

namespace fusescope::fusion {
namespace {

constexpr std::size_t kMaxSources = 8;

bool digits(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

void addOnce(std::vector<std::string>& list, std::string text) {
    if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

// ".../models/qwen3/modeling_qwen3.py(63): forward" -> "modeling_qwen3.py:63"; "" for PyTorch's own frames.
std::string frameOf(std::string_view name) {
    const std::size_t close = name.rfind("): ");
    if (close == std::string_view::npos) return {};
    const std::size_t open = name.rfind('(', close);
    if (open == std::string_view::npos) return {};
    std::string_view file = name.substr(0, open);
    const std::string line(name.substr(open + 1, close - open - 1));
    if (!digits(line) || file.size() < 4 || file.substr(file.size() - 3) != ".py") return {};
    for (const std::string_view own : {"torch/", "functools", "contextlib"})
        if (file.find(own) != std::string_view::npos) return {};
    if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
    return std::string(file) + ":" + line;
}

std::string frameAround(const TraceStore& trace, SliceId slice) {
    for (int guard = 0; slice.valid() && guard < 256; ++guard) {
        slice = trace.slices.parent[slice.index()];
        if (!slice.valid() || trace.slices.category[slice.index()] != Category::PythonFunction) continue;
        std::string frame = frameOf(trace.nameOf(slice));
        if (!frame.empty()) return frame;
    }
    return {};
}

} // namespace

std::string foldedPath(const std::string& path) {
    std::string out;
    std::size_t at = 0;
    while (at <= path.size()) {
        std::size_t end = path.find_first_of("./", at);
        if (end == std::string::npos) end = path.size();
        std::string part = path.substr(at, end - at);
        const std::size_t dash = part.rfind('_');
        if (digits(part)) part = "*";
        else if (dash != std::string::npos && digits(part.substr(dash + 1))) part = part.substr(0, dash + 1) + "*"; // Qwen3MLP_3
        out += part;
        if (end < path.size()) out += path[end];
        at = end + 1;
    }
    return out;
}

std::vector<std::string> modulesOf(const FusionInput& input, const std::vector<const Draft*>& drafts) {
    const ModuleTree* tree = input.link != nullptr ? &input.link->modules : input.graph != nullptr ? &input.graph->modules : nullptr;
    std::vector<std::string> order;
    std::vector<std::set<std::string>> members;
    for (const Draft* draft : drafts) {
        const ModuleId m = draft->instance.module;
        if (tree == nullptr || !m.valid() || m.index() >= tree->modules.size()) continue;
        const std::string& path = tree->at(m).path;
        const std::string folded = foldedPath(path);
        auto found = std::find(order.begin(), order.end(), folded);
        if (found == order.end()) {
            order.push_back(folded);
            members.emplace_back();
            found = order.end() - 1;
        }
        members[static_cast<std::size_t>(found - order.begin())].insert(path);
    }
    for (std::size_t i = 0; i < order.size(); ++i)
        if (members[i].size() == 1) order[i] = *members[i].begin();
    return order;
}

std::vector<std::string> sourcesOf(const FusionInput& input, const StepOps* trace, const std::vector<const Draft*>& drafts) {
    std::vector<std::string> out;
    for (const Draft* draft : drafts) {
        if (out.size() >= kMaxSources) break;
        if (input.graph != nullptr)
            for (const NodeId node : draft->instance.nodes) addOnce(out, input.graph->ops.sourceLine(node));
    }
    if (out.empty() && trace != nullptr && !trace->by_kernel_name)
        for (const Draft* draft : drafts) {
            if (out.size() >= kMaxSources) break;
            for (const std::uint32_t row : draft->rows) addOnce(out, frameAround(trace->trace(), trace->ops[row].slice));
        }
    if (out.size() > kMaxSources) out.resize(kMaxSources);
    return out;
}

} // namespace fusescope::fusion
