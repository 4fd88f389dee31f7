// SPDX-License-Identifier: Apache-2.0
#include "core/io/pt2/pt2_reader.h"

#include "core/base/memory_guard.h"
#include "core/graph/hash.h"
#include "core/io/open.h"
#include "core/io/pt2/pt2_archive.h"
#include "core/io/pt2/pt2_graph.h"

#include <algorithm>

namespace fusescope {
namespace pt2 {
namespace {

constexpr std::size_t kMaxJsonDepth = 256;
constexpr std::int64_t kSchemaMajor = 8; // of torch 2.5 to 2.11; minor versions only add

bool endsWith(std::string_view text, std::string_view suffix) {
    return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

struct GraphEntry {
    const Entry* entry = nullptr;
    std::string model;      // "model"
    std::size_t others = 0; // further models in the archive
};

GraphEntry findGraph(const Archive& archive) {
    constexpr std::string_view kFolder = "models/", kEnding = ".json";
    GraphEntry found;
    for (const Entry& entry : archive.entries()) {
        const std::string_view name = entry.name;
        if (name.substr(0, kFolder.size()) != kFolder || !endsWith(name, kEnding)) continue;
        if (found.entry) {
            ++found.others;
            continue;
        }
        found.entry = &entry;
        found.model = name.substr(kFolder.size(), name.size() - kFolder.size() - kEnding.size());
    }
    if (!found.entry) found.entry = archive.find("serialized_exported_program.json"); // torch 2.1 to 2.7
    return found;
}

Error parseError(simdjson::error_code code, const std::string& at) {
    if (code == simdjson::DEPTH_ERROR) return {ErrorCode::Limit, "JSON nested at most 256 deep", "deeper nesting", at};
    if (code == simdjson::MEMALLOC || code == simdjson::CAPACITY)
        return {ErrorCode::Limit, "JSON that fits into memory", "more than that", at};
    return {ErrorCode::Damaged, "the JSON of an exported program",
            std::string("damaged JSON (") + simdjson::error_message(code) + ")", at};
}

// Which parameters lie in the same bytes. Weights of a model on the meta device all share one empty file: no tie.
StorageKeys readStorage(const Archive& archive, const std::string& model, simdjson::dom::parser& parser,
                        GraphBuilder& builder, std::vector<std::pair<std::string, TensorMeta>>& parameters) {
    StorageKeys keys;
    const Entry* entry = archive.find("data/weights/" + model + "_weights_config.json");
    if (!entry) return keys;
    const Result<PaddedText> text = archive.read(*entry);
    if (!text) {
        builder.problem("weights config", text.error().message());
        return keys;
    }
    Json root;
    if (const auto error = parser.parse(text->bytes.data(), text->size, false).get(root)) {
        builder.problem("weights config", parseError(error, archive.where() + ": " + entry->name).message());
        return keys;
    }
    const auto config = objectMember(root, "config");
    if (!config) return keys;
    std::unordered_map<std::string_view, bool> filled; // weight file -> has bytes
    for (const Entry& weight : archive.entries()) {
        constexpr std::string_view kFolder = "data/weights/";
        const std::string_view name = weight.name;
        if (name.substr(0, kFolder.size()) == kFolder) filled.emplace(name.substr(kFolder.size()), weight.size > 0);
    }
    for (const auto field : *config) {
        const std::string_view file = textMember(field.value, "path_name");
        const auto meta = member(field.value, "tensor_meta");
        if (flagMember(field.value, "is_param"))
            parameters.emplace_back(field.key, meta ? tensorMeta(*meta) : TensorMeta{});
        const auto found = filled.find(file);
        if (found == filled.end() || !found->second || !meta) continue;
        const auto offset = member(*meta, "storage_offset");
        keys.emplace(field.key, std::string(file) + "+" + std::to_string(offset ? symbolicInt(*offset) : 0));
    }
    return keys;
}

// archive: where the weights' table may lie; null for a graph without one.
Result<GraphPtr> readGraph(const PaddedText& text, const std::string& at, const Archive* archive,
                           const GraphEntry& graph, Progress& progress) {
    simdjson::dom::parser parser;
    if (const auto error = parser.allocate(std::max<std::size_t>(text.size, 1024), kMaxJsonDepth))
        return parseError(error, at);
    Json root;
    if (const auto error = parser.parse(text.bytes.data(), text.size, false).get(root)) return parseError(error, at);
    const auto graph_module = member(root, "graph_module");
    if (!graph_module)
        return Error{ErrorCode::WrongFormat, "an exported program with graph_module",
                     root.is_object() ? "a JSON object without it" : "JSON that is no object", at};

    GraphBuilder builder;
    if (graph.others > 0)
        builder.problem("other models", "the archive holds " + std::to_string(graph.others) + " more model" +
                                            (graph.others == 1 ? "" : "s") + "; only " + graph.entry->name +
                                            " is shown");
    std::int64_t major = kSchemaMajor;
    if (const auto version = member(root, "schema_version"))
        if (const auto number = member(*version, "major")) major = integer(*number).value_or(kSchemaMajor);
    if (major != kSchemaMajor)
        builder.problem("schema version", at + ": written for schema version " + std::to_string(major) +
                                              ", read as version " + std::to_string(kSchemaMajor) +
                                              "; what does not fit is left out");

    simdjson::dom::parser weights_parser;
    std::vector<std::pair<std::string, TensorMeta>> parameters;
    StorageKeys storage;
    if (archive) storage = readStorage(*archive, graph.model, weights_parser, builder, parameters);
    if (Status status = readGraphModule(*graph_module, storage, builder, progress, at); !status)
        return std::move(status).error();
    // A tied parameter has one value in the graph; its other names are only known here.
    for (auto& [name, meta] : parameters) {
        const auto key = storage.find(name);
        builder.unusedParameter(name, std::move(meta),
                                key == storage.end() ? std::string_view{} : std::string_view(key->second));
    }

    Result<ModelGraph> built = std::move(builder).finish();
    if (!built) {
        Error error = std::move(built).error();
        error.where = at;
        return error;
    }
    auto model = std::make_shared<ModelGraph>(std::move(built).value());
    model->format = "pt2";
    const std::string_view version = textMember(root, "torch_version");
    model->producer = version.empty() ? std::string("torch") : "torch " + std::string(version.substr(0, 64));
    Hash128 hash;
    hash.add(text.view());
    model->content_hash = hash.hex();
    model->path = archive ? archive->where() : at;
    return GraphPtr(std::move(model));
}

Result<GraphPtr> readArchive(const Archive& archive, Progress& progress) {
    const GraphEntry graph = findGraph(archive);
    if (!graph.entry)
        return Error{ErrorCode::WrongFormat, "a torch.export archive with models/*.json", archive.describe(),
                     archive.where()};
    progress.begin("reading model graph");
    const Result<PaddedText> text = archive.read(*graph.entry);
    if (!text) return text.error();
    return readGraph(*text, archive.where() + ": " + graph.entry->name, &archive, graph, progress);
}

} // namespace
} // namespace pt2

Result<GraphPtr> readPt2(const std::string& path, Progress& progress) {
    return guardedByMemory(path, progress, [&]() -> Result<GraphPtr> {
        const Result<pt2::Archive> archive = pt2::Archive::open(path);
        if (!archive) return archive.error();
        return pt2::readArchive(*archive, progress);
    });
}

Result<GraphPtr> readPt2Memory(std::string_view bytes) {
    Progress progress;
    return guardedByMemory("memory", progress, [&]() -> Result<GraphPtr> {
        const Result<pt2::Archive> archive = pt2::Archive::openMemory(bytes, "memory");
        if (!archive) return archive.error();
        return pt2::readArchive(*archive, progress);
    });
}

Result<GraphPtr> readPt2Json(std::string_view json) {
    Progress progress;
    return guardedByMemory("memory", progress, [&]() -> Result<GraphPtr> {
        pt2::PaddedText text;
        text.size = json.size();
        text.bytes.reserve(json.size() + pt2::kPadding);
        text.bytes.append(json).append(pt2::kPadding, '\0');
        return pt2::readGraph(text, "memory", nullptr, {}, progress);
    });
}

} // namespace fusescope
