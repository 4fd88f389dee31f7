// SPDX-License-Identifier: Apache-2.0
// Opens any supported file: the kind is read off the content, never the extension.
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/graph/op_graph.h"
#include "core/trace/trace_store.h"

#include <string>
#include <variant>

namespace fusescope {

enum class FileKind : std::uint8_t {
    KinetoTrace,    // JSON with traceEvents (or an array of events), plain or gzip
    Pt2,            // torch.export archive
    TorchScript,    // zip with constants.pkl: later
    TorchPickle,    // zip with data.pkl only (torch.save): never opened, weights are not a graph
    PerfettoTrace,  // protobuf: later
    ExecutionTrace, // JSON with nodes + schema: later
    Unknown,
};
[[nodiscard]] std::string_view nameOf(FileKind kind) noexcept; // "a Kineto trace (JSON)" ...

struct Sniffed {
    FileKind kind = FileKind::Unknown;
    bool gzip = false;
    std::string what;
}; // what: for messages
[[nodiscard]] Result<Sniffed> sniffFile(const std::string& path);

using OpenedFile = std::variant<TracePtr, GraphPtr>;
[[nodiscard]] Result<OpenedFile> openFile(const std::string& path, Progress& progress);

[[nodiscard]] Result<TracePtr> readKinetoTrace(const std::string& path, bool gzip, Progress& progress);
[[nodiscard]] Result<GraphPtr> readPt2(const std::string& path, Progress& progress);
// The full text of a slice's args, read again from the file; "" if it has none.
[[nodiscard]] Result<std::string> readArgsText(const TraceStore& store, SliceId slice);

} // namespace fusescope
