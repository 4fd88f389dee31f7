// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fuse/fuse_commands.h"

#include "ui/base/paint.h"
#include "ui/fuse/fuse_queue.h"

#include <utility>

namespace fusescope {

LandResult::LandResult(Session* session, MeasuredResult result) : session_(session), result_(std::move(result)) {
    if (const MeasuredResult* old = session->measured().find(result_.finding, result_.instance_class)) before_ = *old;
    setText(FuseQueue::tr("measured %1").arg(fusescope::text(result_.finding)));
}

void LandResult::redo() {
    MeasuredSet set = session_->measured();
    set.set(result_);
    session_->setMeasured(std::move(set));
}

void LandResult::undo() {
    MeasuredSet set = session_->measured();
    if (before_)
        set.set(*before_);
    else
        set.remove({result_.finding, result_.instance_class});
    session_->setMeasured(std::move(set));
}

ClearResults::ClearResults(Session* session) : session_(session), before_(session->measured()) {
    setText(FuseQueue::tr("clear measured results"));
}

RemoveRegion::RemoveRegion(FuseQueue* queue, Session* session, ChosenPtr region)
    : queue_(queue), session_(session), region_(std::move(region)), before_(session->measured()), after_(before_) {
    for (const auto& [key, result] : before_.results())
        if (key.first == region_->id) after_.remove(key);
    setText(FuseQueue::tr("remove %1").arg(fusescope::text(region_->title)));
}

void RemoveRegion::redo() {
    session_->setMeasured(after_);
    queue_->takeAway(region_->id);
}

void RemoveRegion::undo() {
    queue_->bringBack(region_);
    session_->setMeasured(before_);
}

} // namespace fusescope
