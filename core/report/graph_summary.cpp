// SPDX-License-Identifier: Apache-2.0
// A torchinfo-like table of the model: what each module holds, hands out, computes and (with a trace) costs.
#include "core/report/report.h"

#include "core/base/format.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

namespace fusescope {
namespace {

constexpr std::size_t kColumns = 6;
using Row = std::array<std::string, kColumns>;

std::size_t displayWidth(const std::string& text) { // code points: the tree's branches are not ASCII
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// "├─self_attn (Qwen3Attention)", folds as "layers.0 … 1  x2".
std::string label(const ModuleTree& tree, ModuleId id, std::size_t depth, std::size_t repeat) {
    const Module& module = tree.at(id);
    std::string text;
    for (std::size_t i = 1; i < depth; ++i) text += "│  ";
    if (depth > 0) text += "├─";
    if (module.name.empty()) {
        text += module.type.empty() ? "(model)" : module.type;
    } else {
        text += module.name;
        if (!module.type.empty()) text += " (" + module.type + ")";
    }
    if (repeat > 1) text += "  ×" + std::to_string(repeat);
    return text;
}

// The rows below a row of alike modules: each child of the first, with its alike siblings and the same of the others.
std::vector<std::vector<ModuleId>> childrenAlike(const ModuleTree& tree, const std::vector<ModuleId>& alike) {
    // By name, once a parent: a module may have 100,000 children.
    std::vector<std::unordered_map<std::string_view, ModuleId>> by_name(alike.size());
    for (std::size_t i = 1; i < alike.size(); ++i)
        for (const ModuleId child : tree.at(alike[i]).children) by_name[i].emplace(tree.at(child).name, child);
    std::vector<std::vector<ModuleId>> rows;
    for (const ModuleId child : tree.at(alike.front()).children) {
        const std::uint32_t fold = tree.at(child).fold_group;
        std::vector<ModuleId> siblings{child};
        if (fold < tree.folds.size()) {
            if (tree.folds[fold].members.front() != child) continue; // its representative stands for it
            siblings = tree.folds[fold].members;
        }
        std::vector<ModuleId>& row = rows.emplace_back(siblings);
        for (std::size_t i = 1; i < alike.size(); ++i)
            for (const ModuleId sibling : siblings)
                if (const auto same = by_name[i].find(tree.at(sibling).name); same != by_name[i].end())
                    row.push_back(same->second);
    }
    return rows;
}

// A thousandth and less is not worth its digits.
std::string shareText(double share) { return share > 0 && share < 0.001 ? "<0.1%" : formatPercent(share); }

} // namespace

std::string graphSummary(const Analysis& a) {
    const ModuleTree& tree = a.link.modules;
    const bool measured = a.trace != nullptr;
    std::vector<Row> rows;
    rows.push_back({"Layer (type)", "Output shape", "Parameters", "FLOPs", "FLOP share", measured ? "Time" : ""});
    const double all_flops = a.modules.empty() ? 0 : a.modules.front().flops;

    // Pre-order, iterative: module depth is the file's to choose. A row stands for all modules that are alike: their
    // figures are summed, for alike modules take unlike times.
    struct Item {
        std::vector<ModuleId> alike;
        std::size_t depth;
    };
    std::vector<Item> stack;
    if (!tree.modules.empty()) stack.push_back({{ModuleId(std::size_t{0})}, 0});
    while (!stack.empty()) {
        const Item item = std::move(stack.back());
        stack.pop_back();
        const ModuleStats& first = a.modules[item.alike.front().index()];
        double ns = 0, flops = 0;
        std::int64_t parameters = 0;
        for (const ModuleId id : item.alike) {
            const ModuleStats& stats = a.modules[id.index()];
            ns += stats.forward_ns + stats.backward_ns;
            flops += stats.flops;
            parameters += stats.parameters;
        }
        rows.push_back({label(tree, item.alike.front(), item.depth, item.alike.size()),
                        first.output_shape.empty() ? "--" : first.output_shape,
                        parameters > 0 ? formatCount(parameters) : "--", flops > 0 ? formatFlops(flops) : "--",
                        all_flops > 0 ? shareText(flops / all_flops) : "--",
                        measured && ns > 0 ? formatDuration(ns) : ""});
        std::vector<std::vector<ModuleId>> below = childrenAlike(tree, item.alike);
        for (auto row = below.rbegin(); row != below.rend(); ++row) stack.push_back({std::move(*row), item.depth + 1});
    }

    std::array<std::size_t, kColumns> width{};
    for (const Row& row : rows)
        for (std::size_t c = 0; c < kColumns; ++c) width[c] = std::max(width[c], displayWidth(row[c]));
    std::string out;
    const auto line = [&] {
        std::size_t total = 0;
        for (const std::size_t w : width) total += w + (w > 0 ? 2 : 0);
        for (std::size_t i = 0; i + 2 < total; ++i) out += "=";
        out += '\n';
    };
    line();
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::string text;
        for (std::size_t c = 0; c < kColumns; ++c) {
            if (width[c] == 0) continue;
            const std::string pad(width[c] - displayWidth(rows[r][c]), ' ');
            text += c == 0 ? rows[r][c] + pad : "  " + pad + rows[r][c]; // figures right, names left
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + '\n';
        if (r == 0) line();
    }
    line();
    const std::int64_t parameters = a.modules.empty() ? 0 : a.modules.front().parameters;
    out += "Parameters: " + formatCount(parameters) + "\n";
    out += "Forward FLOPs: " + (all_flops > 0 ? formatFlops(all_flops) : std::string("not known")) + "\n";
    if (measured)
        out += "Times: forward and backward kernels of " +
               (a.step >= 0 ? a.steps[static_cast<std::size_t>(a.step)].name : std::string("the trace")) + "\n";
    return out;
}

} // namespace fusescope
