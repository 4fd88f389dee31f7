// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fuse/fuse_queue.h"

#include "core/region/build.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_commands.h"

#include <QDateTime>
#include <QThreadPool>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace fusescope {
namespace {

constexpr int kUndoSteps = 200;

double timeOf(const Finding& finding, const InstanceClass& one) {
    double time = 0;
    for (const std::uint32_t i : one.instances) {
        const Instance& instance = finding.instances[i];
        time += instance.forward_ns + instance.backward_ns + instance.idle_ns;
    }
    return time;
}

// All of a result but what the runner says.
MeasuredResult headOf(const std::string& id, const std::string& instance_class, const std::string& shape,
                      const Region& region) {
    MeasuredResult head;
    head.finding = id;
    head.instance_class = instance_class;
    head.shape = shape;
    head.note = region.reason;
    head.fused_bytes = region.fused_bytes;
    head.fused_backward_bytes = region.fused_backward_bytes;
    head.fused_flops = region.fused_flops;
    head.fused_backward_flops = region.fused_backward_flops;
    return head;
}

bool holds(const std::vector<ChosenRegion>& regions, const std::string& id) {
    return std::any_of(regions.begin(), regions.end(), [&](const ChosenRegion& one) { return one.id == id; });
}

} // namespace

// Where the worker leaves what it made: the queue may be gone by then.
struct FuseQueue::Mailbox {
    std::mutex guard;
    FuseQueue* owner = nullptr;
};

FuseQueue::FuseQueue(Session* session, QObject* parent)
    : QObject(parent), session_(session), mailbox_(std::make_shared<Mailbox>()) {
    mailbox_->owner = this;
    undo_.setUndoLimit(kUndoSteps);
    connect(session, &Session::analysisChanged, this, [this] {
        cancelAll();
        jobs_.clear();
        const bool same = sameReading(shown_, session_->analysis());
        if (!same) undo_.clear();
        prepare();
        // Of another step or device of the same files.
        std::vector<ChosenRegion> kept;
        for (const ChosenPtr& region : session_->regions()) kept.push_back(*region);
        if (same)
            for (ChosenRegion& region : awaited()) kept.push_back(std::move(region));
        shown_ = session_->analysis();
        awaited_.clear();
        of_regions_.clear();
        if (!kept.empty()) restoreRegions(std::move(kept));
    });
    connect(session, &Session::measuredChanged, this, &FuseQueue::changed);
    prepare();
}

FuseQueue::~FuseQueue() {
    const std::lock_guard lock(mailbox_->guard);
    mailbox_->owner = nullptr;
}

void FuseQueue::setRunner(FuseRunner* runner) {
    if (runner_ == runner) return;
    cancelAll();
    if (runner_ != nullptr) runner_->disconnect(this);
    runner_ = runner;
    if (runner_ != nullptr) {
        connect(runner_, &FuseRunner::progressed, this, &FuseQueue::onProgress);
        connect(runner_, &FuseRunner::measured, this, &FuseQueue::onMeasured);
        connect(runner_, &FuseRunner::failed, this, &FuseQueue::onFailed);
        connect(runner_, &FuseRunner::changed, this, &FuseQueue::changed);
        connect(runner_, &QObject::destroyed, this, [this] { runner_ = nullptr; });
    }
    Q_EMIT changed();
}

// Regions are made once, in a worker: of a whole model each takes a walk through its graph.
void FuseQueue::prepare() {
    ++generation_;
    of_findings_.clear();
    const AnalysisPtr analysis = session_->analysis();
    prepared_ = analysis == nullptr;
    if (!analysis) {
        Q_EMIT changed();
        return;
    }
    QThreadPool::globalInstance()->start([analysis, mailbox = mailbox_, generation = generation_] {
        std::vector<Prepared> all;
        try {
            for (const Finding& finding : analysis->findings) {
                Prepared& one = all.emplace_back();
                if (finding.verdict == Verdict::AlreadyFused) {
                    one.reason = tr("It is fused already.");
                    continue;
                }
                std::vector<InstanceClass> classes = instanceClasses(*analysis, finding);
                std::stable_sort(classes.begin(), classes.end(),
                                 [&](const auto& a, const auto& b) { return timeOf(finding, a) > timeOf(finding, b); });
                for (const InstanceClass& c : classes) {
                    const std::uint32_t first = c.instances.front();
                    Result<Region> region = regionOfInstance(*analysis, finding, first);
                    QString reason =
                        !region ? text(region.error().message())
                        : region->fused.steps.empty()
                            ? (region->reason.empty() ? tr("There is no fused form of it.") : text(region->reason))
                            : QString();
                    if (!reason.isEmpty()) {
                        if (one.reason.isEmpty()) one.reason = std::move(reason);
                        continue;
                    }
                    Shape shape;
                    shape.head = headOf(finding.id, c.name, finding.instances[first].shape, *region);
                    shape.region = std::move(*region);
                    one.shapes.push_back(std::move(shape));
                }
                if (!one.shapes.empty()) one.reason.clear();
                if (one.shapes.empty() && one.reason.isEmpty()) one.reason = tr("It has no occurrence to measure.");
            }
        } catch (const std::bad_alloc&) {
            all.resize(analysis->findings.size());
            for (Prepared& one : all)
                if (one.shapes.empty()) one.reason = tr("There is too little memory to make its region.");
        }
        const std::lock_guard lock(mailbox->guard);
        if (mailbox->owner == nullptr) return;
        QMetaObject::invokeMethod(
            mailbox->owner,
            [mailbox, generation, all = std::move(all)]() mutable {
                mailbox->owner->setPrepared(generation, std::move(all)); // the event goes with its receiver
            },
            Qt::QueuedConnection);
    });
    Q_EMIT changed();
}

void FuseQueue::setPrepared(std::size_t generation, std::vector<Prepared> prepared) {
    if (generation != generation_) return;
    of_findings_ = std::move(prepared);
    prepared_ = true;
    Q_EMIT changed();
    startNext();
}

const FuseQueue::Prepared* FuseQueue::preparedOf(const std::string& finding) const {
    const AnalysisPtr& analysis = session_->analysis();
    if (const auto region = of_regions_.find(finding); region != of_regions_.end()) return &region->second;
    if (!analysis || of_findings_.size() != analysis->findings.size()) return nullptr;
    for (std::size_t row = 0; row < of_findings_.size(); ++row)
        if (analysis->findings[row].id == finding) return &of_findings_[row];
    return nullptr;
}

FuseJob FuseQueue::job(std::size_t row) const {
    const Finding* finding = session_->workAt(row);
    if (finding == nullptr) return {};
    const auto at = jobs_.find(finding->id);
    return at == jobs_.end() ? FuseJob{} : at->second;
}

QString FuseQueue::reasonAgainst(std::size_t row) const {
    const Finding* finding = session_->workAt(row);
    if (finding == nullptr) return tr("Nothing is opened.");
    if (finding->verdict == Verdict::AlreadyFused) return tr("It is fused already.");
    if (const Prepared* made = preparedOf(finding->id); made != nullptr && !made->reason.isEmpty()) return made->reason;
    if (runner_ == nullptr || !runner_->available())
        return tr(
            "No runner was found: fusescope-runner measures regions with PyTorch. ./dev kernels builds it; or name "
            "one in Fuse > Runner.");
    return {};
}

std::size_t FuseQueue::active() const { return entries_.size(); }

bool FuseQueue::planCanBeFused() const {
    const AnalysisPtr& analysis = session_->analysis();
    if (!analysis) return false;
    for (std::size_t row = 0; row < analysis->findings.size(); ++row)
        if (planPartOf(session_->measuredPlan().plan, analysis->findings[row].id) != nullptr &&
            reasonAgainst(row).isEmpty())
            return true;
    return false;
}

void FuseQueue::fuse(std::size_t row) {
    const Finding* finding = session_->workAt(row);
    if (finding == nullptr || !reasonAgainst(row).isEmpty() || job(row).active()) return;
    FuseJob fresh;
    fresh.state = FuseJob::State::Waiting;
    jobs_[finding->id] = fresh;
    entries_.push_back({finding->id, 0});
    Q_EMIT changed();
    startNext();
}

void FuseQueue::fusePlan() {
    const AnalysisPtr& analysis = session_->analysis();
    if (!analysis) return;
    const std::vector<std::string> wanted = session_->measuredPlan().plan.findings; // with what came in by measuring
    for (const std::string& id : wanted)
        for (std::size_t row = 0; row < analysis->findings.size(); ++row)
            if (analysis->findings[row].id == id) fuse(row);
}

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
    Prepared& made = of_regions_[work.chosen.id];
    made = {};
    const std::vector<InstanceClass> classes = instanceClasses(*session_->analysis(), work.chosen.work);
    if (classes.empty()) made.reason = tr("It has no occurrence to measure.");
    if (made.reason.isEmpty()) {
        MeasuredResult head = headOf(work.chosen.id, classes.front().name, {}, work.region);
        made.shapes.push_back({std::move(work.region), std::move(head)});
    }
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
                const ChosenPtr region = measurable(std::move(*work));
                session_->addRegions({region});
                row = static_cast<std::size_t>(session_->workRowOf(region->id));
            }
            session_->pick(session_->pickOfWork(row));
            fuse(row);
        });
}

void FuseQueue::restoreRegions(std::vector<ChosenRegion> saved, std::string picked) {
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

void FuseQueue::bringBack(const ChosenPtr& region) {
    if (of_regions_.contains(region->id))
        session_->addRegions({region});
    else
        restoreRegions({*region});
}

void FuseQueue::takeAway(const std::string& id) {
    for (auto& [number, regions] : awaited_)
        std::erase_if(regions, [&](const ChosenRegion& one) { return one.id == id; });
    session_->removeRegion(id);
}

void FuseQueue::startNext() {
    if (request_ != 0 || entries_.empty() || !prepared_ || runner_ == nullptr) return;
    const Prepared* made = preparedOf(entries_.front().finding);
    if (made == nullptr && holds(awaited(), entries_.front().finding)) return; // its region is made for this step
    if (made == nullptr || made->shapes.empty()) { // it turned out not to be measurable: its reason says so
        jobs_.erase(entries_.front().finding);
        entries_.pop_front();
        Q_EMIT changed();
        startNext();
        return;
    }
    step();
}

// Asks for the next shape of the first entry, or ends it.
void FuseQueue::step() {
    Entry& entry = entries_.front();
    const Prepared* made = preparedOf(entry.finding);
    if (entry.next >= made->shapes.size()) {
        end(nullptr);
        return;
    }
    FuseJob& job = jobs_[entry.finding];
    job.state = FuseJob::State::Running;
    job.done = entry.next;
    job.of = made->shapes.size();
    job.fraction = static_cast<double>(entry.next) / static_cast<double>(job.of);
    if (entry.next == 0) job.stage = runner_->hello() == nullptr ? tr("starting the runner") : QString();
    request_ = runner_->measure(made->shapes[entry.next].region);
    Q_EMIT changed();
}

void FuseQueue::end(const RunnerError* error) {
    request_ = 0;
    const std::string finding = entries_.front().finding;
    entries_.pop_front();
    if (error == nullptr || error->code == runner_error::kCancelled) {
        jobs_.erase(finding);
    } else {
        FuseJob& job = jobs_[finding];
        job = {};
        job.state = FuseJob::State::Failed;
        job.error = *error;
    }
    // Without a runner of this version the others would fail alike.
    if (error != nullptr && (error->code == runner_error::kNone || error->code == runner_error::kVersion)) {
        for (const Entry& entry : entries_) {
            FuseJob& job = jobs_[entry.finding];
            job = {};
            job.state = FuseJob::State::Failed;
            job.error = *error;
        }
        entries_.clear();
    }
    Q_EMIT changed();
    startNext();
}

void FuseQueue::onProgress(qint64 id, const QString& stage, double fraction) {
    if (id != request_ || request_ == 0) return;
    FuseJob& job = jobs_[entries_.front().finding];
    if (job.state != FuseJob::State::Running) return;
    job.stage = stage;
    if (fraction >= 0)
        job.fraction = (static_cast<double>(job.done) + std::clamp(fraction, 0.0, 1.0)) /
                       static_cast<double>(std::max<std::size_t>(job.of, 1));
    Q_EMIT changed();
}

void FuseQueue::onMeasured(qint64 id, const FuseResult& result) {
    if (id != request_ || request_ == 0) return;
    Entry& entry = entries_.front();
    MeasuredResult landed = preparedOf(entry.finding)->shapes[entry.next].head;
    landed.result = result;
    landed.runner = runner_->commandText().toStdString();
    landed.when_s = QDateTime::currentSecsSinceEpoch();
    if (const RunnerHello* hello = runner_->hello()) landed.versions = versionsText(*hello);
    const bool cancelled = jobs_[entry.finding].state == FuseJob::State::Cancelling;
    ++entry.next;
    if (session_->workRowOf(entry.finding) >= 0) keep(entry, std::move(landed)); // else it was removed while it ran
    request_ = 0;
    if (cancelled)
        end(nullptr);
    else
        step();
}

// An earlier result that is good for more stays, and the new one is told.
void FuseQueue::keep(Entry& entry, MeasuredResult landed) {
    const MeasuredResult* earlier = session_->measured().find(landed.finding, landed.instance_class);
    if (earlier == nullptr || takesThePlaceOf(*session_->analysis(), earlier->result, landed.result)) {
        undo_.push(new LandResult(session_, std::move(landed)));
        return;
    }
    if (std::exchange(entry.told, true)) return;
    const std::string now = landed.result.device + (landed.result.busy ? ", which was busy" : "");
    Q_EMIT refused(
        tr("%1 ran on %2. Its earlier result, of %3, stays: it says more of the step. Clear measured results "
           "to show the new ones alone.")
            .arg(text(entry.finding), text(now), text(earlier->result.device)));
}

void FuseQueue::onFailed(qint64 id, const RunnerError& error) {
    if (id != request_ || request_ == 0) return;
    const RunnerError told = error;
    end(&told);
}

void FuseQueue::cancel(std::size_t row) {
    const Finding* finding = session_->workAt(row);
    if (finding == nullptr) return;
    const auto at = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return entry.finding == finding->id; });
    if (at == entries_.end()) return;
    if (at == entries_.begin() && request_ != 0) {
        jobs_[finding->id].state = FuseJob::State::Cancelling;
        const qint64 id = request_;
        Q_EMIT changed();
        if (runner_ != nullptr) runner_->cancel(id);
        return;
    }
    jobs_.erase(finding->id);
    entries_.erase(at);
    Q_EMIT changed();
    startNext();
}

// At once: an answer that still comes is nobody's.
void FuseQueue::cancelAll() {
    if (request_ != 0 && runner_ != nullptr) runner_->cancel(std::exchange(request_, 0));
    request_ = 0;
    for (const Entry& entry : entries_) jobs_.erase(entry.finding);
    if (entries_.empty()) return;
    entries_.clear();
    Q_EMIT changed();
}

void FuseQueue::clearMeasured() {
    if (session_->measured().empty()) return;
    undo_.push(new ClearResults(session_));
}

} // namespace fusescope
