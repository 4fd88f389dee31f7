// SPDX-License-Identifier: GPL-3.0-or-later
// Findings and regions of the user's own that wait to be measured, the one that is, and what became of them. Results
// land in the session, each a step that can be undone. Rows are those of Session::workAt().
#pragma once

#include "ui/base/session.h"
#include "ui/fuse/fuse_prepare.h"
#include "ui/fuse/fuse_runner.h"

#include <QObject>
#include <QString>
#include <QUndoStack>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace fusescope {

struct FuseJob {
    enum class State { Idle, Waiting, Running, Cancelling, Failed };
    State state = State::Idle;
    std::size_t done = 0, of = 0; // of the finding's different shapes, those that take the most time first
    QString stage;                // of the runner: "fused forward"
    double fraction = -1;         // of all shapes together; negative: not known
    RunnerError error;            // Failed
    [[nodiscard]] bool active() const { return state != State::Idle && state != State::Failed; }
};

class FuseQueue : public QObject {
    Q_OBJECT
public:
    explicit FuseQueue(Session* session, QObject* parent = nullptr);
    ~FuseQueue() override;

    void setRunner(FuseRunner* runner); // may be null
    [[nodiscard]] FuseRunner* runner() const { return runner_; }

    [[nodiscard]] FuseJob job(std::size_t row) const;
    // Why the finding cannot be measured, in a sentence; "" when it can.
    [[nodiscard]] QString reasonAgainst(std::size_t row) const;
    // Whether regions of all findings are made, so that reasonAgainst() knows all.
    [[nodiscard]] bool prepared() const { return prepared_; }
    [[nodiscard]] std::size_t active() const; // waiting and running
    [[nodiscard]] bool planCanBeFused() const;

    void fuse(std::size_t row); // once more: measures again
    void fusePlan();
    // What the user chose beyond findings becomes a region of the session, is picked and measured; where a finding is
    // just that, the finding. refused() says why nothing came of it.
    void fuseWish(const RegionWish& wish);
    // Regions of a saved session; those that these files do not have are left out, and told. picked: id of the one to
    // select, "" for none.
    void restoreRegions(std::vector<ChosenRegion> saved, std::string picked = {});
    [[nodiscard]] bool choosing() const { return choosing_ > 0; } // a wish is being looked at
    void removeRegion(std::size_t row);                           // can be undone
    void bringBack(const ChosenPtr& region); // one that was removed, made anew where the step is another by now
    void takeAway(const std::string& id);    // also one that is still being made
    // What restoreRegions() still looks at: of these files, though the session does not have it yet.
    [[nodiscard]] std::vector<ChosenRegion> awaited() const;
    void cancel(std::size_t row);
    void cancelAll();
    void clearMeasured();
    [[nodiscard]] QUndoStack* undoStack() { return &undo_; }

Q_SIGNALS:
    void changed(); // a job or what can be fused
    void refused(const QString& sentence);

private:
    struct Entry { // in order of the wish
        std::string finding;
        std::size_t next = 0; // shape
        bool told = false;    // that an earlier result stays
    };
    struct Mailbox { // where a worker leaves what it made: the queue may be gone by then
        std::mutex guard;
        FuseQueue* owner = nullptr;
    };

    using Made = std::vector<Result<ChosenWork>>;
    // Runs in a worker; what it made comes back to `then` in this thread, unless other files were opened meanwhile.
    void choose(std::function<Made(const Analysis&)> make, std::function<void(Made)> then);
    [[nodiscard]] bool awaits(const std::string& id) const;
    // Why the session cannot take one more region (kMostFileRegions), in a sentence; "" when it can.
    [[nodiscard]] QString reasonAgainstAdding(const ChosenRegion& region) const;
    [[nodiscard]] ChosenPtr measurable(ChosenWork work); // can be measured once the session has it
    void prepare();
    void setPrepared(std::size_t generation, std::vector<PreparedWork> prepared);
    void startNext();
    void step();
    void end(const RunnerError* error);
    void onProgress(qint64 id, const QString& stage, double fraction);
    void onMeasured(qint64 id, const FuseResult& result);
    void keep(Entry& entry, MeasuredResult landed);
    void onFailed(qint64 id, const RunnerError& error);
    [[nodiscard]] const PreparedWork* preparedOf(const std::string& finding) const;

    Session* session_;
    FuseRunner* runner_ = nullptr;
    QUndoStack undo_;
    std::shared_ptr<Mailbox> mailbox_;
    std::size_t generation_ = 0;
    bool prepared_ = false;
    int choosing_ = 0;
    std::vector<PreparedWork> of_findings_;            // parallel to the analysis' findings
    std::map<std::string, PreparedWork> of_regions_;   // by id; those that were removed stay for the undo
    std::map<int, std::vector<ChosenRegion>> awaited_; // by the number of the restoreRegions()
    int restorings_ = 0;
    AnalysisPtr shown_;         // whose regions these are
    std::deque<Entry> entries_; // the first one runs when request_ is not 0
    std::map<std::string, FuseJob> jobs_;
    qint64 request_ = 0;
};

} // namespace fusescope
