// SPDX-License-Identifier: Apache-2.0
// What a runner's lines mean, without any process: first what a login prints, then its hello, then answers to requests
// that are open. Every client of a runner reads with it, so that all judge alike.
#pragma once

#include "core/base/result.h"
#include "core/ipc/runner_protocol.h"

#include <cstdint>
#include <set>
#include <string_view>
#include <variant>

namespace fusescope {

class RunnerTalk {
public:
    struct Nothing {}; // a login's words, an empty line, what comes after a request's last event
    // RunnerAnswer: of an open request, which is no longer open after its last event; id 0: what the runner says of
    // itself, a log, progress or an error. Error: the line breaks the protocol (Unsupported: another version of it;
    // WrongFormat: no hello; Damaged: no answer), and nothing after it can be trusted.
    using Event = std::variant<Nothing, RunnerHello, RunnerAnswer, Error>;

    [[nodiscard]] Event take(std::string_view line); // without its line feed
    // A request's id, from 1 on; also of a cancel. It is open, and may be answered, from expect() on.
    [[nodiscard]] std::int64_t newId() { return ++last_id_; }
    void expect(std::int64_t id) { open_.insert(id); }
    [[nodiscard]] bool greeted() const { return greeted_; }
    // Another runner takes its place: ids go on, nothing is open.
    void startAnew();

private:
    [[nodiscard]] Event hello(std::string_view line);

    std::set<std::int64_t> open_;
    std::int64_t last_id_ = 0;
    int greeting_ = 0; // lines
    bool greeted_ = false;
};

} // namespace fusescope
