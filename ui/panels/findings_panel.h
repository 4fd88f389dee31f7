// SPDX-License-Identifier: GPL-3.0-or-later
// The findings, best first, then the regions of the user's own choice, and the evidence of the chosen one.
#pragma once

#include "ui/base/session.h"
#include "ui/fuse/fuse_queue.h"

#include <QString>
#include <QWidget>

#include <memory>

namespace fusescope {

class FindingsPanel : public QWidget {
    Q_OBJECT
public:
    explicit FindingsPanel(Session* session, QWidget* parent = nullptr);
    ~FindingsPanel() override;
    void setFilter(const QString& text);
    // What of the height the details have, in thousandths, where they are shown; what is none is the half.
    [[nodiscard]] int detailShare() const;
    void setDetailShare(int share);
    void setQueue(FuseQueue* queue); // once: findings then have a button that measures them
    void fuseChosen();
    void cancelChosen();
    [[nodiscard]] int chosen() const;       // row (Session::workAt) in the details, -1: none
    [[nodiscard]] QString copyText() const; // the chosen finding as Markdown, "" if none

Q_SIGNALS:
    void runnerWanted(); // where a runner could be named
    void chosenChanged();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace fusescope
