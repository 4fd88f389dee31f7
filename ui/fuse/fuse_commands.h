// SPDX-License-Identifier: GPL-3.0-or-later
// What can be undone about measuring: a result, the clearing of all of them, a region that was removed.
#pragma once

#include "ui/base/session.h"

#include <QUndoCommand>

#include <optional>

namespace fusescope {

class FuseQueue;

class LandResult : public QUndoCommand {
public:
    LandResult(Session* session, MeasuredResult result);
    void redo() override;
    void undo() override;

private:
    Session* session_;
    MeasuredResult result_;
    std::optional<MeasuredResult> before_;
};

class ClearResults : public QUndoCommand {
public:
    explicit ClearResults(Session* session);
    void redo() override { session_->setMeasured({}); }
    void undo() override { session_->setMeasured(before_); }

private:
    Session* session_;
    MeasuredSet before_;
};

class RemoveRegion : public QUndoCommand { // with what was measured of it
public:
    RemoveRegion(FuseQueue* queue, Session* session, ChosenPtr region);
    void redo() override;
    void undo() override;

private:
    FuseQueue* queue_;
    Session* session_;
    ChosenPtr region_;
    MeasuredSet before_, after_;
};

} // namespace fusescope
