// SPDX-License-Identifier: GPL-3.0-or-later
// Who runs regions for the window: a runner's process, or a stand-in of a test.
#pragma once

#include "core/ipc/runner_protocol.h"

#include <QObject>
#include <QString>

namespace fusescope {

class FuseRunner : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    // Answers come later, never during the call: one of measured() and failed() for each request.
    virtual qint64 measure(const Region& region) = 0;
    virtual void cancel(qint64 id) = 0;
    [[nodiscard]] virtual bool available() const = 0;           // false: there is no program to start
    [[nodiscard]] virtual QString commandText() const = 0;      // what is started
    [[nodiscard]] virtual const RunnerHello* hello() const = 0; // null while none has started

Q_SIGNALS:
    void progressed(qint64 id, const QString& stage, double fraction); // fraction < 0: not known
    void measured(qint64 id, const fusescope::FuseResult& result);
    void failed(qint64 id, const fusescope::RunnerError& error);
    void changed(); // availability, command or hello
};

// Codes of errors beside the protocol's own (core/ipc/runner_protocol.h).
namespace runner_error {
inline constexpr const char *kNone = "no_runner", *kVersion = "version", *kCrashed = "crashed", *kHung = "hung",
                            *kFlood = "flood", *kGarbled = "garbled", *kCancelled = "cancelled";
}

} // namespace fusescope
