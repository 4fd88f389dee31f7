// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/runner_process.h"

#include "core/ipc/runner_protocol.h"

#include <poll.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <chrono>
#include <csignal>

namespace fusescope::ipc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPiece = 64 << 10;

// Between fork and exec: nothing here may allocate or take a lock.
[[noreturn]] void become(char* const* argv, int in, int out, int err, int failure, pid_t parent) {
    sigset_t none;
    sigemptyset(&none);
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGPIPE, &action, nullptr);
    // Ctrl-C is for the program that people see: it cancels, and then ends the runner.
    action.sa_handler = SIG_IGN;
    sigaction(SIGINT, &action, nullptr);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); // of the thread that started it
    if (getppid() != parent) _exit(1);
#else
    (void)parent;
#endif
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0)
        execvp(argv[0], argv);
    const int code = errno;
    (void)!::write(failure, &code, sizeof code);
    _exit(127);
}

} // namespace

Status RunnerProcess::start(const std::vector<std::string>& command) {
    if (command.empty() || command.front().empty())
        return Error{ErrorCode::NotFound, "a command that starts a runner", "an empty one", {}};
    Descriptor child_in, child_out, child_err, told, failure;
    if (!makePipe(child_in, to_) || !makePipe(from_, child_out) || !makePipe(err_, child_err) ||
        !makePipe(told, failure))
        return Error{ErrorCode::Unreadable, "a pipe to " + name_, "none (" + reason(errno) + ")", {}};
    std::vector<std::string> words = command;
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) become(argv.data(), child_in.get(), child_out.get(), child_err.get(), failure.get(), parent);
    if (pid_ < 0) return Error{ErrorCode::Unreadable, "a process for " + name_, "none (" + reason(errno) + ")", {}};
    for (Descriptor* end : {&child_in, &child_out, &child_err, &failure}) end->close();
    int code = 0;
    ssize_t got = 0;
    while ((got = read(told.get(), &code, sizeof code)) == -1 && errno == EINTR) {
    }
    if (got == static_cast<ssize_t>(sizeof code)) {
        stop();
        return Error{code == ENOENT ? ErrorCode::NotFound : ErrorCode::Unreadable,
                     "a runner started by '" + command.front() + "'",
                     "no program that can be started (" + reason(code) + ")",
                     {}};
    }
    for (const Descriptor* end : {&to_, &from_, &err_})
        (void)fcntl(end->get(), F_SETFL, fcntl(end->get(), F_GETFL) | O_NONBLOCK);
    return done();
}

void RunnerProcess::write(std::string_view line) {
    if (!to_.open()) return;
    out_ += line;
    flush();
}

void RunnerProcess::flush() {
    const WithoutSigpipe guard;
    std::size_t sent = 0;
    while (to_.open() && sent < out_.size()) {
        const ssize_t wrote = ::write(to_.get(), out_.data() + sent, out_.size() - sent);
        if (wrote > 0)
            sent += static_cast<std::size_t>(wrote);
        else if (wrote < 0 && errno == EAGAIN)
            break;
        else if (wrote < 0 && errno != EINTR)
            to_.close(); // it reads no more: what it says, or its end, tells why
    }
    out_.erase(0, sent);
    if (!to_.open()) out_.clear();
}

void RunnerProcess::readErrors() {
    std::array<char, kPiece> bytes; // NOLINT(cppcoreguidelines-pro-type-member-init)
    const ssize_t got = read(err_.get(), bytes.data(), bytes.size());
    if (got > 0) {
        errors_.append(bytes.data(), static_cast<std::size_t>(got));
        if (errors_.size() > stderr_bytes_) errors_.erase(0, errors_.size() - stderr_bytes_);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        err_.close();
    }
}

void RunnerProcess::pump(int timeout_ms) {
    if (stopped_ || ended_) return;
    std::array<pollfd, 3> wait{};
    wait[0] = {from_.get(), POLLIN, 0};
    wait[1] = {err_.get(), POLLIN, 0}; // a closed one is -1, which poll skips
    wait[2] = {out_.empty() ? -1 : to_.get(), POLLOUT, 0};
    const int ready = poll(wait.data(), wait.size(), timeout_ms);
    if (wait[2].revents != 0) flush();
    if (wait[1].revents != 0) readErrors();
    if (wait[0].revents != 0) {
        std::array<char, kPiece> bytes; // NOLINT(cppcoreguidelines-pro-type-member-init)
        const ssize_t got = read(from_.get(), bytes.data(), bytes.size());
        if (got > 0) {
            in_.erase(0, begin_);
            searched_ -= begin_;
            begin_ = 0;
            in_.append(bytes.data(), static_cast<std::size_t>(got));
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            ended_ = true;
        }
    } else if (ready == 0) { // once it is gone, others that hold its pipe open say nothing
        if (gone_)
            ended_ = true;
        else
            gone_ = reap(0);
    }
}

bool RunnerProcess::hasLine() {
    searched_ = in_.find('\n', searched_);
    if (searched_ != std::string::npos) return true;
    searched_ = in_.size();
    return false;
}

std::optional<std::string_view> RunnerProcess::takeLine() {
    if (!hasLine()) return std::nullopt;
    const std::string_view line = std::string_view(in_).substr(begin_, searched_ - begin_);
    begin_ = ++searched_;
    return line;
}

bool RunnerProcess::reap(int within_ms) {
    const auto deadline = Clock::now() + std::chrono::milliseconds(within_ms);
    for (int wait = 1; pid_ > 0; wait = std::min(wait * 2, 20)) {
        const pid_t got = waitpid(pid_, &status_, WNOHANG);
        if (got == pid_ || (got == -1 && errno != EINTR)) {
            reaped_ = got == pid_;
            pid_ = -1;
        } else if (got == 0) {
            if (Clock::now() >= deadline) return false;
            (void)poll(nullptr, 0, wait);
        }
    }
    return true;
}

std::string RunnerProcess::fate() {
    const bool half = begin_ < in_.size();
    const std::string before = half ? "half a line, then " : "";
    if (stopped_ && !reaped_) return before + "its end";
    if (!reap(2000)) {
        stop();
        return before + "the end of its output, though it went on";
    }
    // What it wrote to stderr before its end is there by now.
    for (int i = 0; i < 64 && err_.open(); ++i) {
        pollfd wait{err_.get(), POLLIN, 0};
        if (poll(&wait, 1, 0) <= 0) break;
        readErrors();
    }
    if (!reaped_) return before + "its end";
    if (WIFSIGNALED(status_)) return before + "its death by signal " + std::to_string(WTERMSIG(status_));
    const int exit = WIFEXITED(status_) ? WEXITSTATUS(status_) : 0;
    std::string text = before + "its end with exit status " + std::to_string(exit);
    if (exit == kExitCudaError) text += " (a CUDA error that does not go away)";
    return text;
}

std::string RunnerProcess::lastWords() const {
    constexpr std::size_t kMost = 400;
    std::string_view text = errors_;
    const auto trim = [&] {
        while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
            text.remove_suffix(1);
    };
    trim();
    if (text.size() > kMost) {
        text.remove_prefix(text.size() - kMost);
        const std::size_t line = text.find('\n');
        if (line != std::string_view::npos) text.remove_prefix(line + 1);
    }
    if (text.empty()) return {};
    std::string words = "; it said: ";
    for (const char c : text) {
        if (c == '\r') continue;
        if (c == '\n')
            words += " / ";
        else
            words += c;
    }
    return words;
}

void RunnerProcess::stop() {
    stopped_ = true;
    to_.close();
    if (pid_ > 0 && !reap(0)) {
        kill(pid_, SIGKILL);
        (void)reap(5000); // one that hangs inside a driver cannot be killed, and is not waited for
    }
    from_.close();
    err_.close();
}

} // namespace fusescope::ipc
