// SPDX-License-Identifier: GPL-3.0-or-later
// Findings that wait to be measured, the one that is, and what became of them. Results land in the session, each a step
// that can be undone.
#pragma once

#include "core/region/program.h"
#include "ui/base/session.h"
#include "ui/fuse/fuse_runner.h"

#include <QObject>
#include <QString>
#include <QUndoStack>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fusescope {

struct FuseJob {
    enum class State { Idle, Waiting, Running, Cancelling, Failed };
    State state = State::Idle;
    std::size_t done = 0, of = 0; // of the finding's different shapes
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
    void cancel(std::size_t row);
    void cancelAll();
    void clearMeasured();
    [[nodiscard]] QUndoStack* undoStack() { return &undo_; }

Q_SIGNALS:
    void changed(); // a job or what can be fused

private:
    struct Shape { // of a finding
        Region region;
        MeasuredResult head; // all but the result
    };
    struct Prepared {
        QString reason; // not "": nothing to measure
        std::vector<Shape> shapes;
    };
    struct Entry { // in order of the wish
        std::string finding;
        std::size_t next = 0; // shape
    };
    struct Mailbox;

    void prepare();
    void setPrepared(std::size_t generation, std::vector<Prepared> prepared);
    void startNext();
    void step();
    void end(const RunnerError* error);
    void onProgress(qint64 id, const QString& stage, double fraction);
    void onMeasured(qint64 id, const FuseResult& result);
    void onFailed(qint64 id, const RunnerError& error);
    [[nodiscard]] const Prepared* preparedOf(const std::string& finding) const;
    [[nodiscard]] const Finding* findingAt(std::size_t row) const;

    Session* session_;
    FuseRunner* runner_ = nullptr;
    QUndoStack undo_;
    std::shared_ptr<Mailbox> mailbox_;
    std::size_t generation_ = 0;
    bool prepared_ = false;
    std::vector<Prepared> of_findings_; // parallel to the analysis' findings
    std::deque<Entry> entries_;         // the first one runs when request_ is not 0
    std::map<std::string, FuseJob> jobs_;
    qint64 request_ = 0;
};

} // namespace fusescope
