// SPDX-License-Identifier: Apache-2.0
#include "core/measured/measured_json.h"

#include "core/base/input_file.h"
#include "core/region/json_fields.h"

#include <algorithm>
#include <new>
#include <utility>

namespace fusescope {
namespace {

using json::Element;
using json::Reader;

constexpr std::string_view kSession = "fusescope.session/1";
constexpr const char* kExpected = "measured results: a session, or what fuse --json wrote";

void writeOne(JsonWriter& json, const MeasuredResult& m) {
    const Result<std::string> line = encodeAnswer({1, RunnerResult(m.result)});
    if (!line) return; // longer than a runner may say: it did not come from one
    json.beginObject().member("finding", m.finding).member("instance_class", m.instance_class);
    json.member("shape", m.shape).member("runner", m.runner).member("versions", m.versions).member("note", m.note);
    json.member("when_s", m.when_s).member("fused_bytes", m.fused_bytes);
    json.member("fused_backward_bytes", m.fused_backward_bytes).member("fused_flops", m.fused_flops);
    json.member("fused_backward_flops", m.fused_backward_flops);
    json.key("answer").raw(std::string_view(*line).substr(0, line->size() - 1)).endObject(); // without its line feed
}

bool readOne(Reader& reader, Element entry, MeasuredSet& set) {
    MeasuredResult m;
    if (!entry.is_object()) return reader.fail("a measured result", json::describe(entry));
    double when = 0;
    const auto answer = reader.need(entry, "answer");
    if (!answer || !reader.need(entry, "finding") || !reader.text(entry, "finding", m.finding, kMostFileText) ||
        !reader.text(entry, "instance_class", m.instance_class, kMostFileText) ||
        !reader.text(entry, "shape", m.shape, kMostFileText) ||
        !reader.text(entry, "runner", m.runner, kMostFileText) ||
        !reader.text(entry, "versions", m.versions, kMostFileText) ||
        !reader.text(entry, "note", m.note, kMostFileText) || !reader.amount(entry, "when_s", when) ||
        !reader.amount(entry, "fused_bytes", m.fused_bytes) ||
        !reader.amount(entry, "fused_backward_bytes", m.fused_backward_bytes) ||
        !reader.amount(entry, "fused_flops", m.fused_flops) ||
        !reader.amount(entry, "fused_backward_flops", m.fused_backward_flops))
        return false;
    constexpr double kMostSeconds = 1e15;
    m.when_s = when < kMostSeconds ? static_cast<std::int64_t>(when) : 0;
    if (m.finding.empty()) return reader.fail("a finding's id", "none");
    const Reader::At at(reader, "answer");
    const Result<RunnerAnswer> said = decodeAnswer(simdjson::minify(*answer));
    if (!said) return reader.fail(said.error().expected, said.error().found, said.error().code);
    const auto* result = std::get_if<RunnerResult>(&said->event);
    const auto* fuse = result != nullptr ? std::get_if<FuseResult>(result) : nullptr;
    if (fuse == nullptr) return reader.fail("a measurement", "another answer of a runner");
    m.result = *fuse;
    set.set(std::move(m));
    return true;
}

void writeTexts(JsonWriter& json, const char* key, const std::vector<std::string>& texts) {
    json.key(key).beginArray();
    for (const std::string& text : texts) json.value(text);
    json.endArray();
}

bool readTexts(Reader& reader, Element object, const char* key, std::vector<std::string>& out) {
    return reader.each(object, key, kMaxRegionSteps,
                       [&](Element entry) { return reader.text(entry, out.emplace_back(), kMostFileText); });
}

bool readRegion(Reader& reader, Element entry, std::vector<ChosenRegion>& regions) {
    ChosenRegion& region = regions.emplace_back();
    if (!entry.is_object()) return reader.fail("a region", json::describe(entry));
    return reader.need(entry, "module") && reader.text(entry, "module", region.module, kMostFileText) &&
           readTexts(reader, entry, "nodes", region.nodes) && readTexts(reader, entry, "fusions", region.fusions) &&
           reader.text(entry, "note", region.note, kMostFileText);
}

bool fits(const std::vector<std::string>& texts) {
    return texts.size() <= kMaxRegionSteps && std::all_of(texts.begin(), texts.end(), [](const std::string& text) {
               return text.size() <= kMostFileText;
           });
}

} // namespace

bool fitsIntoFile(const ChosenRegion& region) {
    return fits({region.module, region.note}) && fits(region.nodes) && fits(region.fusions);
}

void writeChosenRegions(JsonWriter& json, std::span<const ChosenRegion> regions) {
    json.beginArray();
    for (const ChosenRegion& region : regions) {
        json.beginObject().member("module", region.module);
        writeTexts(json, "nodes", region.nodes);
        writeTexts(json, "fusions", region.fusions);
        json.member("note", region.note).endObject();
    }
    json.endArray();
}

void writeMeasured(JsonWriter& json, const MeasuredSet& set) {
    json.beginArray();
    for (const auto& [key, result] : set.results()) writeOne(json, result);
    json.endArray();
}

Result<MeasuredFile> readMeasured(std::string_view text, const std::string& where) {
    const auto wrong = [&](std::string found) {
        return Error{ErrorCode::WrongFormat, kExpected, std::move(found), where};
    };
    if (text.empty()) return wrong("an empty file"); // simdjson wants an address even for no bytes
    if (text.size() > kMostFileBytes) return wrong("a file of more than 64 MB");
    simdjson::dom::parser parser;
    Element root;
    if (parser.parse(text.data(), text.size(), true).get(root) != simdjson::SUCCESS || !root.is_object())
        return wrong("no JSON object");
    Reader reader(where.c_str());
    std::string schema;
    if (!reader.text(root, "schema", schema, kMostFileText)) return reader.error();
    if (schema != kSession && schema != "fusescope.fuse/1")
        return wrong(schema.empty() ? "another kind of file" : "'" + schema.substr(0, 60) + "'");
    MeasuredFile file;
    if (!reader.need(root, "measured") || !reader.each(root, "measured", kMostFileResults,
                                                       [&](Element entry) { return readOne(reader, entry, file.set); }))
        return reader.error();
    if (schema == kSession && !reader.each(root, "regions", kMostFileRegions,
                                           [&](Element entry) { return readRegion(reader, entry, file.regions); }))
        return reader.error();
    return file;
}

Result<MeasuredFile> readMeasuredFile(const std::string& path) {
    const Result<InputFile> file = InputFile::open(path, kExpected);
    if (!file) return file.error();
    if (file->size() > kMostFileBytes)
        return Error{ErrorCode::WrongFormat, kExpected, "a file of more than 64 MB", path};
    try {
        std::string text(static_cast<std::size_t>(file->size()), '\0');
        text.resize(file->readAt(0, text));
        return readMeasured(text, path);
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::Limit, "enough memory for measured results", "too little", path};
    }
}

} // namespace fusescope
