// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/merger.h"

#include "core/io/chrome/json_text.h"

#include <simdjson.h>

#include <limits>

namespace fusescope::chrome {

std::int64_t Merger::numberOf(std::int64_t number, std::uint32_t text, const Decoded& decoded) {
    if (text == kNone) return number;
    const std::string_view word = decoded.strings.all()[text].text;
    if (const auto it = word_ids_.find(word); it != word_ids_.end()) return it->second;
    constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min() / 2; // no process has such a number
    const std::int64_t fresh = kFirst - static_cast<std::int64_t>(word_ids_.size());
    word_ids_.emplace(word, fresh);
    return fresh;
}

void Merger::add(const Decoded& decoded) {
    EventCounts& counts = builder_.meta().counts;
    const EventCounts& more = decoded.counts;
    counts.total += more.total;
    counts.complete += more.complete;
    counts.instant += more.instant;
    counts.flow += more.flow;
    counts.metadata += more.metadata;
    counts.counter += more.counter;
    counts.other += more.other;
    counts.dropped += more.dropped;
    for (std::size_t i = 0; i < decoded.odd.size(); ++i) {
        const auto oddity = static_cast<Oddity>(i);
        if (decoded.odd[i].count > 0)
            builder_.problem(kindOf(oddity), decoded.odd[i].first, sentenceOf(oddity), decoded.odd[i].count);
    }

    StringPool& pool = builder_.meta().strings;
    strings_.clear();
    for (const LocalStrings::Text& text : decoded.strings.all()) strings_.push_back(pool.intern(text.text, text.hash));
    tracks_.clear();
    for (const LocalTrack& t : decoded.tracks)
        tracks_.push_back(builder_.track(t.kind, numberOf(t.pid, t.pid_text, decoded),
                                         numberOf(t.tid, t.tid_text, decoded), t.device, t.stream));
    const auto pooled = [&](std::uint32_t local) { return local == kNone ? StringId{} : strings_[local]; };

    for (const SliceRow& row : decoded.slices) {
        PooledEvent event;
        event.category = row.category;
        event.name = pooled(row.name);
        event.ts = row.ts;
        event.dur = row.dur;
        event.track = tracks_[row.track];
        event.correlation = row.correlation;
        event.external_id = row.external_id;
        event.args_offset = row.args_offset;
        event.args_length = row.args_length;
        if (row.detail == kNone)
            builder_.add(event);
        else if (row.category == Category::Kernel)
            builder_.add(event, decoded.kernels[row.detail]);
        else if (isGpuWork(row.category))
            builder_.add(event, decoded.copies[row.detail]);
        else {
            const OpRow& op = decoded.ops[row.detail];
            builder_.add(event, PooledOpDetail{op.sequence, op.fwd_thread, pooled(op.dims), pooled(op.types),
                                               pooled(op.strides), pooled(op.concrete)});
        }
    }
    for (const NameRow& row : decoded.names) name(row, decoded);
}

void Merger::name(const NameRow& row, const Decoded& decoded) {
    const std::int64_t pid = numberOf(row.pid, row.pid_text, decoded);
    const std::int64_t tid = numberOf(row.tid, row.tid_text, decoded);
    constexpr std::size_t kMaxNamed = std::size_t{1} << 20; // far more than have tracks
    if (threads_.size() >= kMaxNamed || processes_.size() >= kMaxNamed) {
        builder_.problem("too_many_names", 0,
                         "the file names more than a million threads; the rest keep their numbers");
        return;
    }
    if (row.what == NameRow::What::ThreadOrder) {
        threads_[{pid, tid}].order = row.order;
        return;
    }
    if (row.text == kNone) return;
    std::string text(decoded.strings.all()[row.text].text);
    while (!text.empty() && text.back() == ' ') text.pop_back(); // "stream 7 "
    if (row.what == NameRow::What::ProcessName)
        processes_[pid] = std::move(text);
    else
        threads_[{pid, tid}].name = std::move(text);
}

void Merger::rootValue(std::string_view key, std::string_view json, std::uint64_t offset) {
    TraceStore& meta = builder_.meta();
    const auto flag = [&] { return json == "1" || json == "true"; };
    if (key == "baseTimeNanoseconds")
        meta.base_time_ns = integerOf(json).value_or(0);
    else if (key == "with_stack")
        meta.with_stack = flag();
    else if (key == "record_shapes")
        meta.record_shapes = flag();
    else if (key == "deviceProperties")
        devices(json, offset);
}

void Merger::devices(std::string_view json, std::uint64_t offset) {
    TraceStore& meta = builder_.meta();
    simdjson::dom::parser parser;
    simdjson::dom::array entries;
    const simdjson::padded_string padded(json);
    if (parser.parse(padded).get(entries) != simdjson::SUCCESS) {
        builder_.problem("device_properties", offset,
                         "deviceProperties is not valid JSON; the GPU is not known from the trace");
        return;
    }
    constexpr std::size_t kMaxDevices = 1024;
    for (const auto entry : entries) {
        if (meta.devices.size() >= kMaxDevices) break;
        const auto number = [&](const char* key) {
            std::int64_t n = 0;
            return entry[key].get(n) == simdjson::SUCCESS ? n : 0;
        };
        TraceDevice device;
        std::string_view name;
        if (entry["name"].get(name) == simdjson::SUCCESS) device.name = name;
        device.id = static_cast<std::int32_t>(number("id"));
        device.compute_major = static_cast<std::int32_t>(number("computeMajor"));
        device.compute_minor = static_cast<std::int32_t>(number("computeMinor"));
        device.sms = static_cast<std::int32_t>(number("numSms"));
        device.memory_bytes = static_cast<std::uint64_t>(number("totalGlobalMem"));
        meta.devices.push_back(std::move(device));
    }
}

void Merger::finish() {
    TraceStore& store = builder_.meta();
    std::map<std::int64_t, std::string_view> words;
    for (const auto& [word, id] : word_ids_) words[id] = word;
    for (std::size_t t = 0; t < store.tracks.size(); ++t) {
        Track& track = store.tracks[t];
        const auto it = threads_.find({track.pid, track.tid});
        std::string name = it != threads_.end() ? it->second.name : "";
        if (it != threads_.end()) track.sort_index = it->second.order;
        if (name.empty()) {
            if (const auto word = words.find(track.tid); word != words.end())
                name = word->second;
            else if (track.kind == TrackKind::GpuStream)
                name = "stream " + std::to_string(track.stream);
            else if (track.tid >= 0)
                name = "thread " + std::to_string(track.tid);
        }
        builder_.nameTrack(TrackId(t), name);
        if (const auto word = words.find(track.pid); word != words.end())
            store.process_names[track.pid] = word->second;
        else if (const auto process = processes_.find(track.pid); process != processes_.end())
            store.process_names[track.pid] = process->second;
    }
}

} // namespace fusescope::chrome
