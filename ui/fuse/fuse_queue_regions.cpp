// SPDX-License-Identifier: GPL-3.0-or-later
// Regions of the user's own choice: made in a worker, brought back from sessions and from undo.
#include "ui/fuse/fuse_queue.h"

#include "core/base/format.h"
#include "core/measured/measured_json.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_commands.h"

#include <QThreadPool>

#include <algorithm>
#include <new>
#include <utility>

namespace fusescope {
namespace {

bool holds(const std::vector<ChosenRegion>& regions, const std::string& id) {
    return std::any_of(regions.begin(), regions.end(), [&](const ChosenRegion& one) { return one.id == id; });
}

} // namespace

void FuseQueue::choose(std::function<Made(const Analysis&)> make, std::function<void(Made)> then) {
    const AnalysisPtr analysis = session_->analysis();
    if (!analysis) return;
    ++choosing_;
    QThreadPool::globalInstance()->start(
        [analysis, mailbox = mailbox_, make = std::move(make), then = std::move(then)]() mutable {
            Made made;
            try {
                made = make(*analysis);
            } catch (const std::bad_alloc&) {
                made.clear();
                made.emplace_back(Error{ErrorCode::Limit, "memory for the region", "too little", "region"});
            }
            const std::lock_guard lock(mailbox->guard);
            if (mailbox->owner == nullptr) return;
            QMetaObject::invokeMethod(
                mailbox->owner,
                // Weak: the last of gigabytes is not to be freed in the window's thread.
                [mailbox, of = std::weak_ptr(analysis), then = std::move(then), made = std::move(made)]() mutable {
                    FuseQueue* queue = mailbox->owner;
                    --queue->choosing_;
                    if (const AnalysisPtr now = queue->session_->analysis(); now && now == of.lock())
                        then(std::move(made));
                    Q_EMIT queue->changed();
                },
                Qt::QueuedConnection);
        });
    Q_EMIT changed();
}

ChosenPtr FuseQueue::measurable(ChosenWork work) {
    of_regions_[work.chosen.id] = prepareRegion(*session_->analysis(), work.chosen, std::move(work.region));
    return std::make_shared<const ChosenRegion>(std::move(work.chosen));
}

void FuseQueue::fuseWish(const RegionWish& wish) {
    choose(
        [wish](const Analysis& analysis) {
            Made made;
            made.push_back(workOfWish(analysis, wish));
            return made;
        },
        [this](Made made) {
            Result<ChosenWork>& work = made.front();
            if (!work) {
                Q_EMIT refused(tr("This cannot be run as one region. %1").arg(text(work.error().message())));
                return;
            }
            std::size_t row = work->finding.value_or(0);
            if (!work->finding) {
                if (const QString why = reasonAgainstAdding(work->chosen); !why.isEmpty()) {
                    Q_EMIT refused(why);
                    return;
                }
                const ChosenPtr region = measurable(std::move(*work));
                session_->addRegions({region});
                row = static_cast<std::size_t>(session_->workRowOf(region->id));
            }
            session_->pick(session_->pickOfWork(row));
            fuse(row);
        });
}

QString FuseQueue::reasonAgainstAdding(const ChosenRegion& region) const {
    if (session_->workRowOf(region.id) >= 0) return {}; // it takes its own place
    if (session_->regions().size() + awaited().size() >= kMostFileRegions)
        return tr("A session holds at most %1 regions of your own, as many as there are now. Remove one (Delete, in "
                  "the list of findings) to choose another.")
            .arg(text(formatCount(static_cast<std::int64_t>(kMostFileRegions))));
    if (!fitsIntoFile(region)) return tr("Names in this region are longer than a session can hold.");
    return {};
}

void FuseQueue::restoreRegions(std::vector<ChosenRegion> saved, std::string picked) {
    std::size_t taken = awaited().size();
    for (const ChosenPtr& region : session_->regions()) taken += holds(saved, region->id) ? 0U : 1U;
    if (const std::size_t room = kMostFileRegions - std::min(taken, kMostFileRegions); saved.size() > room) {
        Q_EMIT refused(tr("%1 of the regions that were saved are left out: a session holds at most %2.")
                           .arg(saved.size() - room)
                           .arg(text(formatCount(static_cast<std::int64_t>(kMostFileRegions)))));
        saved.resize(room);
    }
    std::vector<std::string> ids;
    ids.reserve(saved.size());
    for (const ChosenRegion& one : saved) ids.push_back(one.id);
    const int number = ++restorings_;
    awaited_[number] = saved;
    choose(
        [saved = std::move(saved), mailbox = mailbox_](const Analysis& analysis) {
            const auto wanted = [&] { // many may take seconds, and the program's end waits for them
                const std::lock_guard lock(mailbox->guard);
                return mailbox->owner != nullptr;
            };
            Made made;
            for (const ChosenRegion& one : saved)
                if (wanted()) made.push_back(workOfChosen(analysis, one));
            return made;
        },
        [this, number, picked = std::move(picked), ids = std::move(ids)](Made made) {
            const std::vector<ChosenRegion> wanted = std::move(awaited_[number]);
            awaited_.erase(number);
            std::vector<ChosenPtr> regions;
            for (std::size_t i = 0; i < std::min(made.size(), ids.size()); ++i) {
                if (!holds(wanted, ids[i])) continue; // taken away meanwhile
                if (Result<ChosenWork>& work = made[i]; work) {
                    regions.push_back(measurable(std::move(*work)));
                    continue;
                }
                session_->removeRegion(ids[i]); // of another step
                Q_EMIT refused(tr("A region that was saved is left out. %1").arg(text(made[i].error().message())));
            }
            session_->addRegions(std::move(regions)); // at once: the views follow once
            if (const int row = picked.empty() ? -1 : session_->workRowOf(picked); row >= 0)
                session_->pick(session_->pickOfWork(static_cast<std::size_t>(row)));
            startNext(); // what waited for them
        });
}

void FuseQueue::removeRegion(std::size_t row) {
    const ChosenPtr region = session_->regionAt(row);
    if (!region) return;
    cancel(row);
    undo_.push(new RemoveRegion(this, session_, region));
}

std::vector<ChosenRegion> FuseQueue::awaited() const {
    std::vector<ChosenRegion> all;
    for (const auto& [number, regions] : awaited_) all.insert(all.end(), regions.begin(), regions.end());
    return all;
}

bool FuseQueue::awaits(const std::string& id) const { return holds(awaited(), id); }

void FuseQueue::bringBack(const ChosenPtr& region) {
    if (const QString why = reasonAgainstAdding(*region); !why.isEmpty())
        Q_EMIT refused(why);
    else if (of_regions_.contains(region->id))
        session_->addRegions({region});
    else
        restoreRegions({*region});
}

void FuseQueue::takeAway(const std::string& id) {
    for (auto& [number, regions] : awaited_)
        std::erase_if(regions, [&](const ChosenRegion& one) { return one.id == id; });
    session_->removeRegion(id);
}

} // namespace fusescope
