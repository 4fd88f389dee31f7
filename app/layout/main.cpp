// SPDX-License-Identifier: GPL-3.0-or-later
// fusescope-layout: one line of JSON in (a graph of boxes), one line out (where they stand). Short-lived: whoever
// starts it kills it after 3 s; should that fail, the alarm ends it.
#include "graphviz_layout.h"

#include "core/base/json_writer.h"
#include "core/ipc/exit_codes.h"
#include "core/ipc/layout_protocol.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

namespace {

constexpr std::size_t kMaxLine = std::size_t{64} << 20;

// The first line of stdin; what follows is ignored.
bool readLine(std::string& line) {
    std::array<char, 65536> buffer{};
    while (line.size() <= kMaxLine) {
        const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) return !line.empty();
        const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
        const std::size_t end = bytes.find('\n');
        line.append(bytes.substr(0, end));
        if (end != std::string_view::npos) return true;
    }
    return false;
}

bool writeAll(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t sent = write(fd, text.data(), text.size());
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

std::string errorLine(std::string_view message) {
    fusescope::JsonWriter json;
    json.beginObject().member("error", message).endObject();
    return std::move(json).take() + "\n";
}

} // namespace

int main() {
    // Descriptor 1 carries the answer and nothing else: whatever a library prints goes to stderr.
    const int out = dup(STDOUT_FILENO);
    if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return fusescope::kExitNoInput;
    alarm((fusescope::kLayoutTimeoutMs + 999) / 1000);
    const rlimit no_core{0, 0}; // an abort of Graphviz is expected now and then and leaves nothing behind
    (void)setrlimit(RLIMIT_CORE, &no_core);

    std::string line;
    if (!readLine(line)) {
        (void)writeAll(out, errorLine("expected one line of JSON on stdin, found none"));
        return fusescope::kExitNoInput;
    }
    const fusescope::Result<fusescope::LayoutRequest> request = fusescope::decodeLayoutRequest(line);
    if (!request) {
        (void)writeAll(out, errorLine(request.error().message()));
        return fusescope::kExitOk; // an answer, if not the wanted one
    }
    const fusescope::Result<fusescope::LayoutResult> result = fusescope::graphvizLayout(*request);
    return writeAll(out, result ? fusescope::encodeLayoutResult(*result) : errorLine(result.error().message()))
               ? fusescope::kExitOk
               : fusescope::kExitNoInput;
}
