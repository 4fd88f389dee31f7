// SPDX-License-Identifier: Apache-2.0
// What a file is, read off its first bytes (and a ZIP's table of contents), never off its name.
#include "core/base/format.h"
#include "core/base/inflate.h"
#include "core/base/mapped_file.h"
#include "core/io/open.h"
#include "core/io/pt2/pt2_archive.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace fusescope {
namespace {

constexpr const char* kExpected = "a Kineto trace (JSON) or a .pt2 model graph";
constexpr std::size_t kHead = std::size_t{1} << 20;

// Told by the names in its table of contents. Without one (cut off) its reader says what is missing.
Sniffed sniffZip(const std::string& path) {
    const auto archive = pt2::Archive::open(path);
    if (!archive) return {FileKind::Pt2, false, "a ZIP archive"};
    const auto has = [&](std::string_view name) { return archive->find(name) != nullptr; };
    const bool models = std::any_of(archive->entries().begin(), archive->entries().end(),
                                    [](const pt2::Entry& entry) { return entry.name.compare(0, 7, "models/") == 0; });
    if (has("archive_format") || models || has("serialized_exported_program.json"))
        return {FileKind::Pt2, false, "a .pt2 archive"};
    if (has("constants.pkl")) return {FileKind::TorchScript, false, "a TorchScript archive (constants.pkl)"};
    if (has("data.pkl"))
        return {FileKind::TorchPickle, false, "a torch.save checkpoint (data.pkl: weights, not a graph)"};
    return {FileKind::Pt2, false, "a ZIP archive"};
}

// Archives that people pack traces into and that are not read here; nullptr if it is none of them.
const char* otherArchive(std::string_view bytes) {
    using namespace std::string_view_literals;
    constexpr std::pair<std::string_view, const char*> kKinds[] = {
        {"\x28\xB5\x2F\xFD"sv, "a zstd archive; decompress it first"},
        {"\xFD"
         "7zXZ\0"sv,
         "an xz archive; decompress it first"},
        {"BZh"sv, "a bzip2 archive; decompress it first"},
        {"\x04\x22\x4D\x18"sv, "an lz4 archive; decompress it first"},
        {"7z\xBC\xAF\x27\x1C"sv, "a 7z archive; unpack it first"},
    };
    for (const auto& [magic, kind] : kKinds)
        if (bytes.substr(0, magic.size()) == magic) return kind;
    return nullptr;
}

std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 24)) out += c >= ' ' && c < 0x7F ? c : '.';
    return out;
}

Sniffed sniffText(std::string_view text) {
    std::size_t i = 0;
    if (text.substr(0, 3) == "\xEF\xBB\xBF") i = 3;
    while (i < text.size() && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t')) ++i;
    if (i == text.size())
        return {FileKind::Unknown, false, text.empty() ? "no text at all" : "nothing but white space"};
    const std::string_view body = text.substr(i);
    if (body.front() == '{' || body.front() == '[') {
        const bool events = body.find("\"traceEvents\"") != std::string_view::npos;
        if (!events && body.find("\"schema\"") != std::string_view::npos &&
            body.find("\"nodes\"") != std::string_view::npos)
            return {FileKind::ExecutionTrace, false, "a PyTorch execution trace"};
        return {FileKind::KinetoTrace, false, "JSON"}; // its reader says whether there are events
    }
    const bool binary =
        std::any_of(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(body.size(), 256)),
                    [](char c) { return static_cast<unsigned char>(c) < 9; });
    if (body.front() == '\x0A' && binary) return {FileKind::PerfettoTrace, false, "a Perfetto trace (protobuf)"};
    if (body.substr(0, 4) == "\x7F"
                             "ELF")
        return {FileKind::Unknown, false, "a program (ELF)"};
    if (body.front() == '\x80') return {FileKind::TorchPickle, false, "a pickle, which is never opened"};
    if (binary) return {FileKind::Unknown, false, "binary data that is none of these"};
    return {FileKind::Unknown, false, "text that is not JSON, beginning \"" + printable(body) + "\""};
}

} // namespace

std::string_view nameOf(FileKind kind) noexcept {
    switch (kind) {
    case FileKind::KinetoTrace: return "a Kineto trace (JSON)";
    case FileKind::Pt2: return "a .pt2 model graph";
    case FileKind::TorchScript: return "a TorchScript archive";
    case FileKind::TorchPickle: return "a pickled checkpoint";
    case FileKind::PerfettoTrace: return "a Perfetto trace (protobuf)";
    case FileKind::ExecutionTrace: return "a PyTorch execution trace";
    case FileKind::Unknown: return "an unknown file";
    }
    return "an unknown file";
}

Result<Sniffed> sniffFile(const std::string& path) {
    const auto file = MappedFile::open(path, kExpected);
    if (!file) return file.error();
    const std::string_view bytes = file->bytes();
    if (bytes.substr(0, 4) == "PK\x03\x04" || bytes.substr(0, 4) == "PK\x05\x06") return sniffZip(path);
    if (const char* archive = otherArchive(bytes)) return Sniffed{FileKind::Unknown, false, archive};
    if (bytes.substr(0, 2) != "\x1F\x8B") return sniffText(bytes.substr(0, kHead));
    std::string head;
    const InflateEnd end = inflateGzip(bytes, kHead * 2, [&](std::string_view piece) {
        head.append(piece);
        return head.size() < kHead;
    });
    if (head.empty() && !end.problem.empty()) return Error{ErrorCode::Damaged, kExpected, end.problem, path};
    Sniffed sniffed = sniffText(std::string_view(head).substr(0, kHead));
    sniffed.gzip = true;
    sniffed.what = "gzip data holding " + sniffed.what;
    return sniffed;
}

} // namespace fusescope
