// SPDX-License-Identifier: Apache-2.0
// The process behind a RunnerClient: its pipes, its lines, its end. Private to core/ipc.
#pragma once

#include "core/base/result.h"
#include "core/ipc/descriptor.h"

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope::ipc {

class RunnerProcess {
public:
    RunnerProcess(std::string name, std::size_t line_bytes, std::size_t stderr_bytes)
        : name_(std::move(name)), line_bytes_(line_bytes), stderr_bytes_(stderr_bytes) {}
    ~RunnerProcess() { stop(); }
    RunnerProcess(const RunnerProcess&) = delete;
    RunnerProcess& operator=(const RunnerProcess&) = delete;

    [[nodiscard]] Status start(const std::vector<std::string>& command);
    void write(std::string_view line); // queued; goes out now and in pump()
    // Waits at most so long for something to happen, then reads and writes what can be without waiting.
    void pump(int timeout_ms);
    // The next whole line, without its end. Valid until the next call of pump() or takeLine().
    [[nodiscard]] std::optional<std::string_view> takeLine();
    // Whether it says no more, or more on one line than a line may hold.
    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] bool lineTooLong() const { return in_.size() - begin_ > line_bytes_; }
    // What has become of it, for people, once ended() or stop(): "its death by signal 11", "exit status 40 (...)".
    [[nodiscard]] std::string fate();
    // "" or "; it said: ..." with the end of its stderr.
    [[nodiscard]] std::string lastWords() const;
    void stop(); // kills it if it runs, and reaps it

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& errorText() const { return errors_; }
    [[nodiscard]] int pid() const { return pid_ > 0 ? pid_ : 0; }

private:
    [[nodiscard]] bool hasLine();
    bool reap(int within_ms);
    void readErrors();
    void flush();

    std::string name_;
    std::size_t line_bytes_, stderr_bytes_;
    pid_t pid_ = -1;
    int status_ = 0;
    bool reaped_ = false, stopped_ = false, ended_ = false, gone_ = false;
    Descriptor to_, from_, err_;
    std::string out_, in_, errors_;
    std::size_t begin_ = 0, searched_ = 0; // of in_: where the next line begins, up to where no end was found
};

} // namespace fusescope::ipc
