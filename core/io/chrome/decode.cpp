// SPDX-License-Identifier: Apache-2.0
#include "core/base/time_text.h"
#include "core/io/chrome/event_row.h"
#include "core/io/chrome/sanitise.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace fusescope::chrome {
namespace {

using simdjson::ondemand::array;
using simdjson::ondemand::json_type;
using simdjson::ondemand::object;
using simdjson::ondemand::value;

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
    while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
    return text;
}
// The raw text of a scalar, without quotes: numbers are also written as strings.
std::string_view scalarText(value &v) {
    std::string_view text = trimmed(v.raw_json_token());
    if (text.size() >= 2 && text.front() == '"') {
        text.remove_prefix(1);
        if (const std::size_t quote = text.find('"'); quote != std::string_view::npos) text = text.substr(0, quote);
    }
    return text;
}
bool isScalar(value &v) {
    json_type type;
    if (v.type().get(type) != simdjson::SUCCESS) return false;
    return type != json_type::array && type != json_type::object;
}
std::int64_t integer(value &v, std::int64_t fallback) {
    if (!isScalar(v)) return fallback;
    const std::string_view text = scalarText(v);
    std::int64_t n = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (ec == std::errc{} && end == text.data() + text.size()) return n;
    double d = 0;
    const auto [dend, dec] = std::from_chars(text.data(), text.data() + text.size(), d);
    if (dec == std::errc{} && dend != text.data() && std::isfinite(d) && std::fabs(d) < 9e18) return static_cast<std::int64_t>(d);
    return fallback;
}
template <class T> T narrowed(std::int64_t n, T fallback) {
    return n < static_cast<std::int64_t>(std::numeric_limits<T>::min()) || n > static_cast<std::int64_t>(std::numeric_limits<T>::max())
               ? fallback
               : static_cast<T>(n);
}
std::uint32_t id32(value &v) { return narrowed<std::uint32_t>(integer(v, 0), 0); }

void triple(value &v, std::array<std::uint32_t, 3> &out) {
    array items;
    if (v.get_array().get(items) != simdjson::SUCCESS) return;
    std::size_t i = 0;
    for (auto item : items) {
        value n;
        if (std::move(item).get(n) != simdjson::SUCCESS) return;
        if (i < 3) out[i++] = id32(n);
    }
}

class EventReader {
public:
    EventReader(Decoded &out, std::string_view text, std::uint64_t offset_of_text, bool exact)
        : out_(out), text_(text), base_(offset_of_text), exact_(exact) {}

    // False: this event is not JSON; nothing was added.
    bool read(object event, std::uint64_t offset) {
        EventRow row;
        row.offset = offset;
        std::string_view ph, cat, name_field;
        bool has_ts = false, ts_bad = false;
        for (auto field : event) {
            std::string_view key;
            value v;
            if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(v) != simdjson::SUCCESS) return false;
            if (key == "ph") {
                if (v.get_string().get(ph) != simdjson::SUCCESS) return false;
            } else if (key == "cat") {
                if (isScalar(v) && v.get_string().get(cat) != simdjson::SUCCESS) cat = {};
                row.category = categoryOf(cat);
            } else if (key == "name") {
                std::string_view name;
                const auto error = v.get_string().get(name);
                if (error == simdjson::SUCCESS) row.name = keep(name);
                else if (error != simdjson::INCORRECT_TYPE) return false; // a bad escape: repaired and read again
            } else if (key == "ts" || key == "dur") {
                const auto ns = isScalar(v) ? nanosecondsFromMicroseconds(scalarText(v)) : std::nullopt;
                if (key == "ts") {
                    has_ts = ns.has_value();
                    ts_bad = !has_ts;
                    row.ts = ns.value_or(0);
                } else {
                    row.dur = ns.value_or(0);
                    if (!ns) problem("bad_duration", offset, "a duration is not a number; it is taken as zero");
                }
            } else if (key == "pid") {
                id(v, row.pid, row.pid_text);
            } else if (key == "tid") {
                id(v, row.tid, row.tid_text);
            } else if (key == "args") {
                if (!args(v, row)) return false;
            }
        }
        EventCounts &n = out_.counts;
        ++n.total;
        if (ph == "X") {
            if (!has_ts) {
                ++n.dropped;
                problem(ts_bad ? "bad_time" : "no_time", offset, "an event has no usable time; it is left out");
                return true;
            }
            ++n.complete;
            row.kind = RowKind::Slice;
        } else if (ph == "M") {
            ++n.metadata;
            row.kind = row.name == "process_name"         ? RowKind::ProcessName
                       : row.name == "thread_name"        ? RowKind::ThreadName
                       : row.name == "process_labels"     ? RowKind::ProcessLabels
                       : row.name == "thread_sort_index" ? RowKind::SortIndex
                                                          : RowKind::Other;
        } else if (ph == "i" || ph == "I" || ph == "R") {
            ++n.instant;
            return true;
        } else if (ph == "s" || ph == "t" || ph == "f") {
            ++n.flow;
            return true;
        } else if (ph == "C") {
            ++n.counter;
            return true;
        } else if (ph == "B" || ph == "E") {
            ++n.other;
            problem("begin_end", offset, "begin and end events are not drawn; profilers write complete events");
            return true;
        } else {
            ++n.other;
            return true;
        }
        out_.rows.push_back(row);
        return true;
    }

private:
    // Text of a string stays where simdjson put it only until the next document: names are copied when they had escapes
    // (then they lie in the parser's buffer), else they can point into the batch.
    std::string_view keep(std::string_view text) { return out_.fixed.emplace_back(text); }

    void id(value &v, std::int64_t &number, std::string_view &text) {
        json_type type;
        if (v.type().get(type) != simdjson::SUCCESS) return;
        if (type == json_type::number) number = integer(v, -1);
        else if (type == json_type::string) {
            std::string_view s;
            if (v.get_string().get(s) != simdjson::SUCCESS) return;
            const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), number);
            if (ec != std::errc{} || end != s.data() + s.size()) {
                number = -1;
                text = keep(s);
            }
        }
    }

    std::string_view raw(value &v) {
        std::string_view text;
        if (isScalar(v)) return keep(trimmed(v.raw_json_token()));
        array items;
        if (v.get_array().get(items) == simdjson::SUCCESS) {
            if (items.raw_json().get(text) != simdjson::SUCCESS) return {};
            return exact_ ? text : keep(text);
        }
        return {};
    }

    bool args(value &v, EventRow &row) {
        object items;
        if (v.get_object().get(items) != simdjson::SUCCESS) return true; // args of another type: kept in the file
        std::string_view whole;
        if (items.raw_json().get(whole) != simdjson::SUCCESS) return false;
        whole = trimmed(whole); // it reaches to the next token
        if (exact_) {
            row.args_offset = base_ + static_cast<std::uint64_t>(whole.data() - text_.data());
            row.args_length = narrowed<std::uint32_t>(static_cast<std::int64_t>(whole.size()), 0);
        }
        if (items.reset().error() != simdjson::SUCCESS) return false;
        for (auto field : items) {
            std::string_view key;
            value a;
            if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(a) != simdjson::SUCCESS) return false;
            if (key == "External id" || key == "external id") row.external_id = id32(a);
            else if (key == "correlation") row.correlation = id32(a);
            else if (key == "name" || key == "labels") {
                std::string_view s;
                const auto error = a.get_string().get(s);
                if (error == simdjson::SUCCESS) row.label = keep(s);
                else if (error != simdjson::INCORRECT_TYPE) return false;
            } else if (key == "sort_index") row.sort_index = integer(a, 0);
            else if (key == "device") row.kernel.device = narrowed<std::int32_t>(integer(a, -1), -1);
            else if (key == "stream") row.kernel.stream = integer(a, -1);
            else if (key == "grid") triple(a, row.kernel.grid);
            else if (key == "block") triple(a, row.kernel.block);
            else if (key == "registers per thread") row.kernel.registers = narrowed<std::uint16_t>(integer(a, 0), 0);
            else if (key == "shared memory") row.kernel.shared_bytes = id32(a);
            else if (key == "est. achieved occupancy %") row.kernel.occupancy = narrowed<std::int16_t>(integer(a, -1), -1);
            else if (key == "graph id") row.kernel.graph_id = id32(a);
            else if (key == "graph node id") row.kernel.graph_node = id32(a);
            else if (key == "bytes") row.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer(a, 0)));
            else if (key == "Sequence number") row.op.sequence = integer(a, -1);
            else if (key == "Fwd thread id") row.op.fwd_thread = integer(a, 0);
            else if (key == "Input Dims") row.op.dims = raw(a);
            else if (key == "Input type") row.op.types = raw(a);
            else if (key == "Input Strides") row.op.strides = raw(a);
            else if (key == "Concrete Inputs") row.op.concrete = raw(a);
        }
        return true;
    }

    void problem(std::string_view kind, std::uint64_t offset, std::string_view message) {
        out_.problems.push_back({kind, offset, message});
    }

    Decoded &out_;
    std::string_view text_;
    std::uint64_t base_;
    bool exact_; // text_ is the file's own text: positions in it are positions in the file
};

// The whole batch as one array. False: some event in it is not JSON.
bool decodeFast(Decoded &out, simdjson::ondemand::parser &parser) {
    const std::string &text = out.batch->text;
    simdjson::ondemand::document doc;
    if (parser.iterate(text.data(), text.size(), text.capacity()).get(doc) != simdjson::SUCCESS) return false;
    array events;
    if (doc.get_array().get(events) != simdjson::SUCCESS) return false;
    EventReader reader(out, text, out.batch->offset - 1, true);
    std::size_t i = 0;
    for (auto item : events) {
        object event;
        if (std::move(item).get_object().get(event) != simdjson::SUCCESS || i >= out.batch->events.size()) return false;
        if (!reader.read(event, out.batch->offset - 1 + out.batch->events[i].first)) return false;
        ++i;
    }
    return i == out.batch->events.size();
}

bool decodeOne(Decoded &out, simdjson::ondemand::parser &parser, std::string_view event, std::uint64_t offset) {
    const simdjson::padded_string padded(event);
    simdjson::ondemand::document doc;
    object root;
    if (parser.iterate(padded).get(doc) != simdjson::SUCCESS || doc.get_object().get(root) != simdjson::SUCCESS) return false;
    const EventCounts counts = out.counts;
    const std::size_t rows = out.rows.size(), problems = out.problems.size();
    EventReader reader(out, {padded.data(), padded.size()}, offset, false);
    if (reader.read(root, offset)) return true;
    out.counts = counts;
    out.rows.resize(rows);
    out.problems.resize(problems);
    return false;
}

void decodeSlow(Decoded &out, simdjson::ondemand::parser &parser) {
    const std::string_view text = out.batch->text;
    for (const auto &[begin, end] : out.batch->events) {
        std::string_view rest = text.substr(begin, end - begin);
        std::uint64_t offset = out.batch->offset - 1 + begin;
        while (!rest.empty()) {
            if (decodeOne(out, parser, rest, offset)) break;
            if (decodeOne(out, parser, sanitised(rest), offset)) {
                out.problems.push_back({"repaired_event", offset, "an event was not valid JSON (a bare inf or N/A, a bad escape, a control character or bytes that are not UTF-8); it was repaired"});
                break;
            }
            const std::size_t next = nextEventStart(rest, 1);
            const std::string_view head = rest.substr(0, next);
            // What stands before the next start may be an event whose end is fine.
            const std::size_t close = head.rfind('}');
            if (next == std::string_view::npos || close == std::string_view::npos || !decodeOne(out, parser, sanitised(head.substr(0, close + 1)), offset)) {
                ++out.counts.total;
                ++out.counts.dropped;
                out.problems.push_back({"bad_event", offset, "an event is not valid JSON; it is left out"});
            }
            if (next == std::string_view::npos) break;
            offset += next;
            rest.remove_prefix(next);
        }
    }
}

} // namespace

Decoded decode(Batch &&batch) {
    thread_local simdjson::ondemand::parser parser;
    Decoded out;
    out.batch = std::make_unique<Batch>(std::move(batch));
    out.batch->text.reserve(out.batch->text.size() + simdjson::SIMDJSON_PADDING);
    out.rows.reserve(out.batch->events.size());
    if (decodeFast(out, parser)) return out;
    out.rows.clear();
    out.fixed.clear();
    out.problems.clear();
    out.counts = {};
    decodeSlow(out, parser);
    return out;
}

} // namespace fusescope::chrome
