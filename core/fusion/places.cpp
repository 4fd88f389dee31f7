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

// PyTorch's own files and what it calls through; a virtual environment may be named torch too.
bool isPyTorch(std::string_view file) {
    for (const std::string_view own : {"-packages/torch/", "functools", "contextlib"})
        if (file.find(own) != std::string_view::npos) return true;
    return file.substr(0, 6) == "torch/";
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
    if (isPyTorch(file)) return {};
    if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
    return std::string(file) + ":" + line;
}

// Innermost frame of a graph node's stack outside PyTorch; "" if there is none.
// '  File ".../modeling_qwen3.py", line 252, in forward\n    query_states = ...'
std::string frameOfStack(std::string_view stack) {
    std::string best;
    std::size_t at = 0;
    while ((at = stack.find("File \"", at)) != std::string_view::npos) {
        at += 6;
        const std::size_t end = stack.find('"', at);
        if (end == std::string_view::npos) break;
        const std::string_view file = stack.substr(at, end - at);
        const std::size_t line = stack.find("line ", end);
        at = end;
        if (line == std::string_view::npos || line > end + 4) continue;
        const std::size_t stop = stack.find_first_not_of("0123456789", line + 5);
        if (isPyTorch(file)) continue;
        best = std::string(file.substr(file.find_last_of("/\\") + 1)) + ":" +
               std::string(stack.substr(line + 5, stop == std::string_view::npos ? stop : stop - line - 5));
    }
    return best;
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
        if (digits(part))
            part = "*";
        else if (dash != std::string::npos && digits(part.substr(dash + 1)))
            part = part.substr(0, dash + 1) + "*"; // Qwen3MLP_3
        out += part;
        if (end < path.size()) out += path[end];
        at = end + 1;
    }
    return out;
}

namespace {

std::vector<std::string> partsOf(const std::string& path) {
    std::vector<std::string> parts{""};
    for (const char c : path) {
        if (c == '.' || c == '/')
            parts.emplace_back(1, c); // the separator goes with what follows
        else
            parts.back() += c;
    }
    return parts;
}

// The folded path with those components written out that are the same in every member.
std::string whereAlike(const std::string& folded, const std::set<std::string>& members) {
    std::vector<std::string> out = partsOf(folded);
    std::vector<std::vector<std::string>> all;
    for (const std::string& member : members) all.push_back(partsOf(member));
    for (std::size_t i = 0; i < out.size(); ++i) {
        const bool alike = std::all_of(all.begin(), all.end(), [&](const auto& parts) {
            return parts.size() == out.size() && parts[i] == all.front()[i];
        });
        if (alike && !all.empty()) out[i] = all.front()[i];
    }
    std::string text;
    for (const std::string& part : out) text += part;
    return text;
}

} // namespace

std::vector<std::string> modulesOf(const FusionInput& input, const std::vector<const Draft*>& drafts) {
    const ModuleTree* tree = input.link != nullptr    ? &input.link->modules
                             : input.graph != nullptr ? &input.graph->modules
                                                      : nullptr;
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
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = whereAlike(order[i], members[i]);
    return order;
}

std::vector<std::string> sourcesOf(const FusionInput& input, const StepOps* trace,
                                   const std::vector<const Draft*>& drafts) {
    std::vector<std::string> out;
    for (const Draft* draft : drafts) {
        if (out.size() >= kMaxSources) break;
        if (input.graph != nullptr)
            for (const NodeId node : draft->instance.nodes)
                addOnce(out, frameOfStack(input.graph->ops.strings.view(input.graph->ops.at(node).stack)));
    }
    if (out.empty() && trace != nullptr && !trace->by_kernel_name)
        for (const Draft* draft : drafts) {
            if (out.size() >= kMaxSources) break;
            for (const std::uint32_t row : draft->rows)
                addOnce(out, frameAround(trace->trace(), trace->ops[row].slice));
        }
    if (out.size() > kMaxSources) out.resize(kMaxSources);
    return out;
}

} // namespace fusescope::fusion
