// SPDX-License-Identifier: GPL-3.0-or-later
// A session as a JSON file: inputs by path and hash, what is selected, the layout, and what was measured.
#pragma once

#include "core/analysis/analysis.h"
#include "core/analysis/selection.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/measured/measured.h"
#include "core/region/chosen.h"

#include <QByteArray>
#include <QList>
#include <QMap>
#include <QSize>
#include <QString>

#include <cstdint>
#include <utility>
#include <vector>

namespace fusescope {

struct SessionInput {
    QString path;      // as it was
    QByteArray sha256; // hex
};
struct SessionFile {
    QList<SessionInput> inputs;
    QString device, step = QStringLiteral("last");  // AnalyzeOptions
    QString selection;                              // pickText()
    std::pair<std::int64_t, std::int64_t> marked{}; // on the timeline, ns of the trace; equal: none
    QByteArray window_state;
    QSize window_size;             // that it is of; empty: not known
    QMap<QString, int> dock_sizes; // across the side they stand at, by name
    MeasuredSet measured;
    std::vector<ChosenRegion> regions; // of each what it is made again from: module, nodes, fusions, note
};

// Errors: what sessionFromJson() would not read again, because it is too much.
[[nodiscard]] Result<QByteArray> sessionJson(const SessionFile& session);
[[nodiscard]] Result<SessionFile> sessionFromJson(const QByteArray& json, const QString& where);
// Pipes, folders and what is too long for a session are errors, too.
[[nodiscard]] Result<SessionFile> readSessionFile(const QString& path);
// Of a file's content, hex; empty: it cannot be read, or `end` was cancelled first. Reads all of it: not for the GUI
// thread.
[[nodiscard]] QByteArray sha256Of(const QString& path, const Progress& end = {});
// Whether both name one file; also of files that are gone, whose names say it then.
[[nodiscard]] bool sameFile(const QString& one, const QString& other);
// Where an input is now: at its path, else beside the session's file. "" when at neither.
[[nodiscard]] QString foundInput(const SessionInput& input, const QString& session_path);

// "finding:rms_norm", "instance:rms_norm#3", "module:model.layers.0.mlp", "nodes:silu,mul_15", and by their rows
// "kernel:17", "op:3", "slice:99"; None for what is not there and for several nodes, which are nodesOf()'s.
[[nodiscard]] Pick pickOf(const Analysis& analysis, const QString& text);
// All nodes that "nodes:A,B" names, in the order of the graph; none where one of them is not there.
[[nodiscard]] std::vector<NodeId> nodesOf(const Analysis& analysis, const QString& text);
[[nodiscard]] QString pickText(const Analysis& analysis, const SelectionSets& selection); // "": it has no such name

} // namespace fusescope
