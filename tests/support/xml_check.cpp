// SPDX-License-Identifier: Apache-2.0
#include "tests/support/xml_check.h"

#include <algorithm>
#include <array>
#include <vector>

namespace fusescope::testing {
namespace {

bool nameChar(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == ':' || c == '.';
}

struct Parser {
    std::string_view text;
    std::size_t at = 0;
    std::string problem;

    bool fail(const std::string& what) {
        if (problem.empty())
            problem =
                what + " at byte " + std::to_string(at) + ": " + std::string(text.substr(at > 20 ? at - 20 : 0, 60));
        return false;
    }
    std::string name() {
        std::string out;
        while (at < text.size() && nameChar(text[at])) out += text[at++];
        return out;
    }
    void space() {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t')) ++at;
    }
    bool characters(char stop) { // text or attribute value up to stop
        while (at < text.size() && text[at] != stop) {
            const char c = text[at];
            if (c == '<') return fail("'<' in a value");
            if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') return fail("control character");
            if (c == '&') {
                constexpr std::array<std::string_view, 5> entities = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
                const auto known = std::find_if(entities.begin(), entities.end(),
                                                [&](std::string_view e) { return text.substr(at, e.size()) == e; });
                if (known == entities.end()) return fail("bare '&'");
            }
            ++at;
        }
        return true;
    }
    bool tag(std::vector<std::string>& open) {
        ++at; // <
        const bool closing = at < text.size() && text[at] == '/';
        if (closing) ++at;
        const std::string element = name();
        if (element.empty()) return fail("tag without a name");
        std::vector<std::string> seen;
        for (space(); at < text.size() && text[at] != '>' && text[at] != '/'; space()) {
            const std::string attribute = name();
            if (attribute.empty()) return fail("attribute without a name");
            if (std::find(seen.begin(), seen.end(), attribute) != seen.end())
                return fail("attribute " + attribute + " twice");
            seen.push_back(attribute);
            if (text.substr(at, 2) != "=\"") return fail("attribute without a quoted value");
            at += 2;
            if (!characters('"')) return false;
            ++at;
        }
        const bool empty = at < text.size() && text[at] == '/';
        if (empty) ++at;
        if (at >= text.size() || text[at] != '>') return fail("tag not closed");
        ++at;
        if (closing) {
            if (open.empty() || open.back() != element) return fail("</" + element + "> closes nothing");
            open.pop_back();
        } else if (!empty)
            open.push_back(element);
        return true;
    }
    bool run() {
        std::vector<std::string> open;
        while (at < text.size()) {
            if (text[at] == '<') {
                if (!tag(open)) return false;
            } else if (!characters('<'))
                return false;
        }
        return open.empty() || fail("<" + open.back() + "> is not closed");
    }
};

} // namespace

std::string xmlProblem(std::string_view text) {
    Parser parser{text, 0, {}};
    parser.run();
    return parser.problem;
}

} // namespace fusescope::testing
