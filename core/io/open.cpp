// SPDX-License-Identifier: Apache-2.0
#include "core/io/open.h"

namespace fusescope {

Result<OpenedFile> openFile(const std::string& path, Progress& progress) {
    if (progress.cancelled()) return Error{ErrorCode::Cancelled, "to read the file", "that it was cancelled", path};
    progress.begin("opening");
    const auto sniffed = sniffFile(path);
    if (!sniffed) return sniffed.error();
    switch (sniffed->kind) {
    case FileKind::KinetoTrace: {
        auto trace = readKinetoTrace(path, sniffed->gzip, progress);
        if (!trace) return std::move(trace).error();
        return OpenedFile(std::move(*trace));
    }
    case FileKind::Pt2: {
        if (sniffed->gzip) break;
        auto graph = readPt2(path, progress);
        if (!graph) return std::move(graph).error();
        return OpenedFile(std::move(*graph));
    }
    case FileKind::TorchScript:
    case FileKind::TorchPickle:
    case FileKind::PerfettoTrace:
    case FileKind::ExecutionTrace:
    case FileKind::Unknown: break;
    }
    const bool known = sniffed->kind != FileKind::Unknown;
    return Error{known ? ErrorCode::Unsupported : ErrorCode::WrongFormat, "a Kineto trace (JSON) or a .pt2 model graph",
                 sniffed->what, path};
}

} // namespace fusescope
