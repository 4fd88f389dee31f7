// SPDX-License-Identifier: Apache-2.0
// What a file is, read off its first bytes (and a ZIP's table of contents), never off its name.
#include "core/base/inflate.h"
#include "core/base/input_file.h"
#include "core/io/open.h"
#include "core/io/pt2/pt2_archive.h"
#include "core/io/sniff_text.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace fusescope {
namespace {

constexpr const char* kExpected = "a Kineto trace (JSON) or a .pt2 model graph";
constexpr std::size_t kHead = std::size_t{1} << 20, kPiece = std::size_t{256} << 10;
constexpr std::uint64_t kMaxSpace = std::uint64_t{64} << 20; // before the first word

// By the table of contents, as the readers see it: bytes of a name may stand in any entry's data.
Result<Sniffed> sniffZip(const std::string& path) {
    const auto archive = pt2::Archive::open(path);
    if (!archive) return archive.error();
    bool models =
        archive->find("archive_format") != nullptr || archive->find("serialized_exported_program.json") != nullptr;
    for (const pt2::Entry& entry : archive->entries()) models = models || entry.name.compare(0, 7, "models/") == 0;
    if (models) return Sniffed{FileKind::Pt2, false, "a .pt2 archive"};
    if (archive->find("constants.pkl") != nullptr)
        return Sniffed{FileKind::TorchScript, false,
                       "a TorchScript archive (constants.pkl): export the model with torch.export instead (.pt2)"};
    if (const pt2::Entry* pickle = archive->find("data.pkl")) {
        // Looked at as bytes: to unpickle is to run what the file says.
        const auto bytes = pickle->size <= kHead ? archive->read(*pickle) : Result<pt2::PaddedText>(pt2::PaddedText{});
        if (bytes && bytes->view().find("torch.fx.graph_module") != std::string_view::npos)
            return Sniffed{
                FileKind::TorchPickle, false,
                "a pickled GraphModule, which is never unpickled: export the model with torch.export (.pt2)"};
        return Sniffed{FileKind::TorchPickle, false, "a torch.save checkpoint (data.pkl: weights, not a graph)"};
    }
    return Sniffed{FileKind::Pt2, false, "a ZIP archive"}; // its reader says what is missing
}

// The first bytes that are not white space, from pieces that come one by one.
class Head {
public:
    // False: enough.
    bool add(std::string_view piece) {
        seen_ += piece.size();
        if (bytes_.empty()) {
            if (seen_ == piece.size() && piece.substr(0, 3) == "\xEF\xBB\xBF") piece.remove_prefix(3);
            const std::size_t first = piece.find_first_not_of(" \n\r\t");
            if (first == std::string_view::npos) return seen_ < kMaxSpace;
            piece.remove_prefix(first);
        }
        bytes_.append(piece.substr(0, kHead - bytes_.size()));
        return bytes_.size() < kHead;
    }
    [[nodiscard]] Sniffed sniffed() const {
        if (bytes_.empty() && seen_ > 0) return {FileKind::Unknown, false, "nothing but white space"};
        return sniffBytes(bytes_);
    }
    [[nodiscard]] bool nothing() const { return seen_ == 0; }

private:
    std::string bytes_;
    std::uint64_t seen_ = 0;
};

// torch.fx writes a folder with module.py; others are just folders.
std::string folderText(const std::string& path) {
    std::error_code code;
    if (std::filesystem::exists(std::filesystem::path(path) / "module.py", code))
        return "a folder written by GraphModule.to_folder(), which is code to run: export the model with torch.export "
               "(.pt2)";
    return "a folder";
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
    auto file = InputFile::open(path, kExpected);
    if (!file) {
        Error error = std::move(file).error();
        if (error.found == "a folder") error.found = folderText(path);
        return error;
    }
    std::string buffer(kPiece, '\0');
    const std::string_view first(buffer.data(), file->readAt(0, buffer));
    if (first.substr(0, 4) == "PK\x03\x04" || first.substr(0, 4) == "PK\x05\x06") return sniffZip(path);
    Head head;
    if (first.substr(0, 2) != "\x1F\x8B") {
        // Perfetto's first byte is a line feed, which is white space to JSON.
        if (!first.empty() && first.front() == '\x0A')
            if (Sniffed perfetto = sniffBytes(first); perfetto.kind == FileKind::PerfettoTrace) return perfetto;
        for (std::uint64_t at = 0;;) {
            const std::size_t got = file->readAt(at, buffer);
            at += got;
            if (got == 0 || !head.add({buffer.data(), got})) break;
        }
        return head.sniffed();
    }
    const InflateEnd end = inflateGzip(*file, kMaxSpace, [&](std::string_view piece) { return head.add(piece); });
    if (head.nothing() && !end.problem.empty()) return Error{ErrorCode::Damaged, kExpected, end.problem, path};
    Sniffed sniffed = head.sniffed();
    sniffed.gzip = true;
    sniffed.what = "gzip data holding " + sniffed.what;
    return sniffed;
}

} // namespace fusescope
