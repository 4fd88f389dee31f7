// SPDX-License-Identifier: Apache-2.0
#include "core/draw/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fusescope {

std::string_view displayKernelName(std::string_view name) noexcept {
    constexpr std::string_view prefix = "void ", anonymous = "(anonymous namespace)";
    std::string_view rest = name;
    if (rest.substr(0, prefix.size()) == prefix) rest.remove_prefix(prefix.size());
    std::size_t begin = 0, end = 0;
    while (end < rest.size()) {
        if (rest[end] == '(' && rest.substr(end, anonymous.size()) == anonymous) {
            end += anonymous.size();
            continue;
        }
        if (rest[end] == '<' || rest[end] == '(') break;
        if (rest[end] == ':') begin = end + 1;
        ++end;
    }
    rest = rest.substr(begin, end - begin);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    while (!rest.empty() && rest.back() == ' ') rest.remove_suffix(1);
    return rest.empty() ? name : rest;
}

std::string telltaleKernelName(std::string_view name) {
    const std::string_view brief = displayKernelName(name);
    std::string text(brief);
    const std::size_t arguments = name.find('<');
    if (arguments == std::string_view::npos) return text;
    const auto part = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    const auto ends = [](std::string_view word, std::string_view tail) {
        return word.size() > tail.size() && word.substr(word.size() - tail.size()) == tail;
    };
    for (std::size_t i = arguments; i < name.size() && i < arguments + 2048;) {
        std::size_t end = i;
        while (end < name.size() && part(name[end])) ++end;
        const std::string_view word = name.substr(i, end - i);
        i = end + 1;
        // Adapters around the functor that matters say nothing themselves.
        const bool adapter = ends(word, "aryFunctor") || word == "TernaryFunctor" || ends(word, "WithCast");
        const bool tells = word.substr(0, 12) == "CUDAFunctor_" || ends(word, "Functor") || ends(word, "Ops") ||
                           ends(word, "_kernel_cuda") || ends(word, "_kernel_impl");
        if (!tells || adapter || word.size() > 48) continue;
        return text.append("<").append(word).append(">");
    }
    return text;
}

std::string_view displayOpName(std::string_view name) noexcept {
    const std::size_t at = name.rfind("::");
    return at == std::string_view::npos || at + 2 >= name.size() ? name : name.substr(at + 2);
}

std::string_view displayFrameName(std::string_view name) noexcept {
    const std::size_t at = name.find(": ");
    return at == std::string_view::npos || at + 2 >= name.size() ? name : name.substr(at + 2);
}

std::string displayModuleName(const ModuleTree& tree, ModuleId id, bool folded) {
    if (!id.valid() || id.index() >= tree.modules.size()) return {};
    const Module& module = tree.at(id);
    if (!module.parent.valid() && module.name.empty()) return module.type.empty() ? "model" : module.type;
    const bool number = !module.name.empty() && std::all_of(module.name.begin(), module.name.end(),
                                                            [](char c) { return c >= '0' && c <= '9'; });
    const bool fold = folded && module.fold_group < tree.folds.size();
    std::string text = module.name;
    if (number && module.parent.valid()) {
        const FoldGroup* group = fold ? &tree.folds[module.fold_group] : nullptr;
        const std::string& list = tree.at(module.parent).name;
        text = list.empty() ? "" : list + " ";
        text += group != nullptr ? tree.at(group->members.front()).name : module.name;
        if (group != nullptr) text += "–" + tree.at(group->members.back()).name;
    }
    if (fold) text += fmt::format(" ×{}", tree.folds[module.fold_group].members.size());
    return text;
}

std::string shareText(double share) {
    if (!std::isfinite(share)) return "–";
    if (share > 0 && share < 0.0005) return "<0.1%";
    return fmt::format("{:.1f}%", share * 100);
}

std::string_view fileName(std::string_view path) noexcept {
    const std::size_t at = path.find_last_of("/\\");
    return at == std::string_view::npos || at + 1 >= path.size() ? path : path.substr(at + 1);
}

} // namespace fusescope
