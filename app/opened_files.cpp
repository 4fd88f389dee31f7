// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/opened_files.h"

#include "ui/base/paint.h"

#include <QDateTime>
#include <QFileInfo>

#include <utility>

namespace fusescope {

QByteArray fileState(const std::string& file) {
    const QFileInfo info(text(file));
    return QByteArray::number(info.size()) + ' ' + QByteArray::number(info.lastModified().toMSecsSinceEpoch());
}

void OpenedFiles::note(const Analysis& analysis) {
    std::map<std::string, Input> now;
    const auto add = [&](const std::string& file, std::shared_ptr<const void> read) {
        const auto before = inputs_.find(file);
        if (before != inputs_.end() && before->second.read == read)
            now.insert(*before);
        else
            now.emplace(file, Input{std::move(read), fileState(file)});
    };
    if (analysis.trace) add(analysis.trace->path, analysis.trace);
    if (analysis.graph) add(analysis.graph->path, analysis.graph);
    inputs_ = std::move(now);
}

std::vector<QByteArray> OpenedFiles::states(const std::vector<std::string>& files) const {
    std::vector<QByteArray> out;
    for (const std::string& file : files) {
        const auto known = inputs_.find(file);
        out.push_back(known == inputs_.end() ? fileState(file) : known->second.state);
    }
    return out;
}

bool OpenedFiles::changed(const std::string& file) const {
    const auto known = inputs_.find(file);
    return known != inputs_.end() && known->second.state != fileState(file);
}

} // namespace fusescope
