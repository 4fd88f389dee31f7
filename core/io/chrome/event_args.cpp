// SPDX-License-Identifier: Apache-2.0
// The "args" of an event: the few that the store keeps. The rest stays in the file and is read when asked for.
#include "core/io/chrome/event_parser.h"

#include <limits>

namespace fusescope::chrome {

using Outcome = EventParser::Outcome;

Outcome EventParser::args(std::size_t& token) { return members<&EventParser::argument>(token); }

Outcome EventParser::threeNumbers(std::size_t& token, std::array<std::uint32_t, 3>& out) {
    const std::size_t begin = token;
    if (const Outcome outcome = skip(token); outcome != Outcome::Done) return outcome;
    out = {};
    std::size_t n = 0;
    bool whole = true; // Triton's operators have "grid(100,)" here; of a kernel that would be damage
    for (std::size_t t = begin + 1; at(begin) == '[' && t + 1 < token; t += 2) {
        const auto value = n < out.size() ? integerAt(t) : std::nullopt;
        whole = whole && value && *value >= 0 && *value <= std::numeric_limits<std::uint32_t>::max();
        if (!whole) break;
        out[n++] = static_cast<std::uint32_t>(*value);
    }
    if (whole && n == out.size()) return Outcome::Done;
    out = {};
    args_.bad_grid = true;
    return Outcome::Done;
}

Outcome EventParser::argument(std::string_view name, std::size_t& token) {
    const std::size_t value = token;
    if (name.size() == 4 && name == "grid") return threeNumbers(token, args_.grid);
    if (name.size() == 5 && name == "block") return threeNumbers(token, args_.block);
    if (const Outcome outcome = skip(token); outcome != Outcome::Done) return outcome;
    if (token >= tokens_.count) return Outcome::Cut;
    checkScalar(value);
    const auto number = [&](std::int64_t& out) {
        const char c = at(value);
        if (c == '{' || c == '[') return;
        if (const auto n = integerAt(value)) out = *n;
    };
    // An id wider than 64 bits is no id that anything can be linked by.
    const auto id = [&](std::int64_t& out) {
        if (const auto n = integerAt(value))
            out = *n;
        else if (at(value) >= '0' && at(value) <= '9')
            out = std::numeric_limits<std::int64_t>::max();
        else if (const std::string_view text = scalarAt(value); text != "null" && !text.empty())
            args_.bad_id = true;
    };
    const auto raw = [&] {
        if (at(value) != '[') return std::string_view();
        const std::size_t begin = tokens_.at[value];
        return text_.substr(begin, tokens_.at[token - 1] + 1 - begin);
    };
    switch (name.size()) {
    case 4:
        if (name == "name" && at(value) == '"') {
            args_.has_name = true;
            return stringAt(value, args_.name);
        }
        break;
    case 5:
        if (name == "bytes") number(args_.bytes);
        break;
    case 6:
        if (name == "device")
            number(args_.device);
        else if (name == "stream")
            number(args_.stream);
        break;
    case 8:
        if (name == "graph id") number(args_.graph_id);
        break;
    case 10:
        if (name == "Input Dims" || name == "Input dims")
            args_.dims = raw();
        else if (name == "Input type")
            args_.types = raw();
        else if (name == "sort_index")
            number(args_.sort_index);
        break;
    case 11:
        if (name == "External id" || name == "external id")
            id(args_.external_id);
        else if (name == "correlation")
            id(args_.correlation);
        break;
    case 13:
        if (name == "Input Strides")
            args_.strides = raw();
        else if (name == "Fwd thread id")
            number(args_.fwd_thread);
        else if (name == "shared memory")
            number(args_.shared);
        else if (name == "graph node id")
            number(args_.graph_node);
        break;
    case 15:
        if (name == "Sequence number")
            number(args_.sequence);
        else if (name == "Concrete Inputs")
            args_.concrete = raw();
        break;
    case 20:
        if (name == "registers per thread") number(args_.registers);
        break;
    case 25:
        if (name == "est. achieved occupancy %") number(args_.occupancy);
        break;
    default: break;
    }
    return Outcome::Done;
}

} // namespace fusescope::chrome
