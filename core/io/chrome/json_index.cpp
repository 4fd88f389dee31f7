// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/json_index.h"

#include "core/io/chrome/event_start.h"

#include <simdjson.h>

namespace fusescope::chrome {

// simdjson's own stage-1 object: On Demand is built on the same one, but wants a padded copy of the text and gives no
// positions. The implementation (AVX-512, AVX2, ...) is picked for the processor it runs on.
struct JsonIndex::Impl {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> stage;
    std::size_t capacity = 0;
};

JsonIndex::JsonIndex() : impl_(std::make_unique<Impl>()) {}
JsonIndex::~JsonIndex() = default;
JsonIndex::JsonIndex(JsonIndex&&) noexcept = default;
JsonIndex& JsonIndex::operator=(JsonIndex&&) noexcept = default;

bool JsonIndex::strict(std::string_view text, Tokens& out) {
    if (text.empty() || text.size() >= simdjson::SIMDJSON_MAXSIZE_BYTES) return false;
    Impl& impl = *impl_;
    if (impl.capacity < text.size()) {
        constexpr std::size_t kDepth = 16; // used by stage 2 only
        const std::size_t capacity = text.size() + text.size() / 8 + 64;
        impl.capacity = 0;
        if (simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, kDepth, impl.stage) !=
            simdjson::SUCCESS)
            return false;
        impl.capacity = capacity;
    }
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data()); // NOLINT
    if (impl.stage->stage1(bytes, text.size(), simdjson::stage1_mode::regular) != simdjson::SUCCESS) return false;
    out.at = impl.stage->structural_indexes.get();
    out.count = impl.stage->n_structural_indexes;
    return true; // simdjson puts text.size() behind the last one
}

JsonIndex::Stop JsonIndex::lenient(std::string_view text, std::size_t from, std::size_t to, Tokens& out,
                                   std::size_t& event_start) {
    tokens_.clear();
    Stop stop = Stop::End;
    std::size_t i = from;
    while (i < to && stop == Stop::End) {
        const char c = text[i];
        const auto here = static_cast<std::uint32_t>(i);
        switch (c) {
        case ' ':
        case '\n':
        case '\r':
        case '\t': ++i; continue;
        case '{':
        case '}':
        case '[':
        case ']':
        case ':':
        case ',':
            tokens_.push_back(here);
            ++i;
            continue;
        case '"': break;
        default: // a scalar, whatever it may be
            tokens_.push_back(here);
            for (++i; i < to; ++i) {
                const char d = text[i];
                if (d == ' ' || d == '\n' || d == '\r' || d == '\t' || d == '{' || d == '}' || d == '[' || d == ']' ||
                    d == ':' || d == ',' || d == '"')
                    break;
            }
            continue;
        }
        bool closed = false;
        std::size_t j = i + 1;
        for (; j < to && !closed; ++j) {
            const char d = text[j];
            if (d == '\\')
                ++j;
            else if (d == '"')
                closed = true;
            else if (d == '{' && isEventStart(text, j)) {
                event_start = j;
                stop = Stop::EventInString;
                break;
            }
        }
        if (!closed) {
            if (stop == Stop::End) stop = Stop::OpenString;
            break;
        }
        tokens_.push_back(here);
        i = j;
    }
    const std::size_t count = tokens_.size();
    tokens_.push_back(static_cast<std::uint32_t>(i < to ? i : to));
    out.at = tokens_.data();
    out.count = count;
    return stop;
}

} // namespace fusescope::chrome
