// SPDX-License-Identifier: Apache-2.0
#include "core/fusion/catalog_json.h"

#include <simdjson.h>

namespace fusescope {
namespace {

using Object = simdjson::dom::object;

std::string textOf(const Object& object, std::string_view key) {
    std::string_view text;
    if (object[key].get_string().get(text) != simdjson::SUCCESS) return {};
    return std::string(text);
}

std::vector<std::string> textsOf(const Object& object, std::string_view key) {
    std::vector<std::string> out;
    simdjson::dom::array array;
    if (object[key].get_array().get(array) != simdjson::SUCCESS) return out;
    for (const simdjson::dom::element item : array) {
        std::string_view text;
        if (item.get_string().get(text) == simdjson::SUCCESS && !text.empty()) out.emplace_back(text);
    }
    return out;
}

bool patternOf(std::string_view id, Pattern& out) {
    for (std::size_t p = 0; p < kPatternCount; ++p) {
        if (idOf(static_cast<Pattern>(p)) != id) continue;
        out = static_cast<Pattern>(p);
        return true;
    }
    return false;
}

} // namespace

Result<CatalogEntry> parseCatalogEntry(std::string_view json, std::string_view where) {
    const std::string place(where);
    constexpr const char* kExpected =
        "a catalogue entry (JSON with id, title, formula, before, after, change, numerics)";
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS)
        return Error{ErrorCode::WrongFormat, kExpected, "text that is not JSON", place};
    Object object;
    if (root.get_object().get(object) != simdjson::SUCCESS)
        return Error{ErrorCode::WrongFormat, kExpected, "JSON that is not an object", place};

    CatalogEntry entry;
    const std::string id = textOf(object, "id");
    if (!patternOf(id, entry.pattern))
        return Error{ErrorCode::WrongFormat, kExpected, "an unknown pattern \"" + id + "\"", place};
    entry.title = textOf(object, "title");
    entry.formula = textOf(object, "formula");
    entry.before = textOf(object, "before");
    entry.after = textOf(object, "after");
    entry.article_gain = textOf(object, "article_gain");
    entry.change = textOf(object, "change");
    entry.numerics = textOf(object, "numerics");
    entry.fused_kernels = textsOf(object, "fused_kernels");
    entry.backward_kernels = textsOf(object, "backward_kernels");
    entry.fused_ops = textsOf(object, "fused_ops");
    if (entry.title.empty() || entry.formula.empty() || entry.before.empty() || entry.after.empty() ||
        entry.change.empty())
        return Error{ErrorCode::WrongFormat, kExpected, "an object without one of these texts", place};
    if (entry.numerics != "bitwise" && entry.numerics != "framework order" && entry.numerics != "one rounding")
        return Error{ErrorCode::WrongFormat, "bitwise, framework order or one rounding as numerics",
                     "\"" + entry.numerics + "\"", place};

    simdjson::dom::array existing;
    if (object["existing"].get_array().get(existing) == simdjson::SUCCESS) {
        for (const simdjson::dom::element item : existing) {
            Object solution;
            if (item.get_object().get(solution) != simdjson::SUCCESS) continue;
            entry.existing.push_back({textOf(solution, "name"), textOf(solution, "note")});
        }
    }
    return entry;
}

} // namespace fusescope
