// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fuse/fuse_queue.h"

#include "core/base/format.h"
#include "core/measured/measured_json.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_commands.h"

#include <QDateTime>
#include <QThreadPool>

#include <algorithm>
#include <mutex>
#include <utility>

namespace fusescope {
namespace {

constexpr int kUndoSteps = 200;
} // namespace

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
        std::vector<PreparedWork> all = prepareFindings(*analysis);
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

void FuseQueue::setPrepared(std::size_t generation, std::vector<PreparedWork> prepared) {
    if (generation != generation_) return;
    of_findings_ = std::move(prepared);
    prepared_ = true;
    Q_EMIT changed();
    startNext();
}

const PreparedWork* FuseQueue::preparedOf(const std::string& finding) const {
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
    if (const PreparedWork* made = preparedOf(finding->id); made != nullptr && !made->reason.isEmpty())
        return made->reason;
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

void FuseQueue::startNext() {
    if (request_ != 0 || entries_.empty() || !prepared_ || runner_ == nullptr) return;
    const PreparedWork* made = preparedOf(entries_.front().finding);
    if (made == nullptr && awaits(entries_.front().finding)) return; // its region is made for this step
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
    const PreparedWork* made = preparedOf(entry.finding);
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
    if (earlier == nullptr && session_->measured().results().size() >= kMostFileResults) {
        if (!std::exchange(entry.told, true))
            Q_EMIT refused(tr("A session holds at most %1 measured results, as many as there are now: what is measured "
                              "beyond is not kept. Clear measured results to make room.")
                               .arg(text(formatCount(static_cast<std::int64_t>(kMostFileResults)))));
        return;
    }
    if (earlier == nullptr || takesThePlaceOf(*session_->analysis(), earlier->result, landed.result)) {
        undo_.push(new LandResult(session_, std::move(landed)));
        return;
    }
    if (std::exchange(entry.told, true)) return;
    const QString now = text(landed.result.device) + (landed.result.busy                 ? tr(", which was busy")
                                                      : doubtText(landed.result).empty() ? QString()
                                                                                         : tr(", in unsteady runs"));
    Q_EMIT refused(
        tr("%1 ran on %2. Its earlier result, of %3, stays: it says more of the step. Clear measured results "
           "to show the new ones alone.")
            .arg(text(entry.finding), now, text(earlier->result.device)));
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
