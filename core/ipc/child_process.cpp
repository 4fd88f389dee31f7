// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/child_process.h"

#include "core/ipc/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

extern char** environ; // NOLINT(readability-redundant-declaration)

namespace fusescope {
namespace {

using Clock = std::chrono::steady_clock;
using ipc::Descriptor;
using ipc::makePipe;
using ipc::reason;
using ipc::WithoutSigpipe;

class Child {
public:
    Child() = default;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (pid_ > 0) (void)end(true);
    }

    // 0, or the reason why it did not start.
    int start(const std::vector<std::string>& command, int in, int out) {
        std::vector<char*> argv;
        std::vector<std::string> words = command;
        argv.reserve(words.size() + 1);
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
        posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        // The child gets signals as a program started from a shell would.
        sigset_t none, defaults;
        sigemptyset(&none);
        sigemptyset(&defaults);
        sigaddset(&defaults, SIGPIPE);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &defaults);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        const int error = posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
        if (error != 0) pid_ = -1;
        return error;
    }

    // Waits for its end (or kills it first) and leaves no zombie. Its wait status.
    int end(bool kill_it) {
        if (kill_it) kill(pid_, SIGKILL);
        int status = 0;
        while (waitpid(pid_, &status, 0) == -1 && errno == EINTR) {
        }
        pid_ = -1;
        return status;
    }

    // Waits until it ends or the time is over. True: it has ended.
    bool endBy(Clock::time_point deadline, int& status) {
        while (true) {
            const pid_t got = waitpid(pid_, &status, WNOHANG);
            if (got == pid_ || (got == -1 && errno != EINTR)) {
                pid_ = -1;
                return true;
            }
            if (Clock::now() >= deadline) return false;
            (void)poll(nullptr, 0, 2);
        }
    }

private:
    pid_t pid_ = -1;
};

} // namespace

Result<std::string> runChild(const std::vector<std::string>& command, std::string_view input, int timeout_ms,
                             std::size_t max_output) {
    if (command.empty() || command.front().empty())
        return Error{ErrorCode::NotFound, "a program to run", "an empty command", {}};
    const std::string& name = command.front();
    const auto deadline = Clock::now() + std::chrono::milliseconds(std::max(0, timeout_ms));
    Descriptor child_in, to_child, from_child, child_out;
    if (!makePipe(child_in, to_child) || !makePipe(from_child, child_out))
        return Error{ErrorCode::Unreadable, "a pipe to " + name, "none (" + reason(errno) + ")", {}};

    const WithoutSigpipe guard;
    Child child;
    if (const int error = child.start(command, child_in.get(), child_out.get()); error != 0)
        return Error{error == ENOENT ? ErrorCode::NotFound : ErrorCode::Unreadable,
                     "the program " + name,
                     "none that can be started (" + reason(error) + ")",
                     {}};
    child_in.close();
    child_out.close();
    for (const int fd : {to_child.get(), from_child.get()}) (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);

    std::string output;
    if (input.empty()) to_child.close();
    while (from_child.open()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) {
            (void)child.end(true);
            return Error{ErrorCode::Limit,
                         "an answer of " + name + " within " + std::to_string(timeout_ms) + " ms",
                         "none; it was stopped",
                         {}};
        }
        std::array<pollfd, 2> wait{};
        wait[0] = {from_child.get(), POLLIN, 0};
        wait[1] = {to_child.get(), POLLOUT, 0}; // a closed one is -1, which poll skips
        const int ready = poll(wait.data(), wait.size(), static_cast<int>(std::min<long long>(left, 1000)));
        if (ready < 0 && errno != EINTR)
            return Error{ErrorCode::Internal, "an answer of " + name, "a failed poll (" + reason(errno) + ")", {}};
        if (ready <= 0) continue;
        if (to_child.open() && wait[1].revents != 0) {
            const ssize_t sent = write(to_child.get(), input.data(), input.size());
            if (sent > 0) input.remove_prefix(static_cast<std::size_t>(sent));
            // It may well answer without reading everything: what it says decides.
            if (input.empty() || (sent < 0 && errno != EAGAIN && errno != EINTR)) to_child.close();
        }
        if (wait[0].revents != 0) {
            std::array<char, 65536> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init)
            const ssize_t got = read(from_child.get(), buffer.data(), buffer.size());
            if (got > 0) {
                if (static_cast<std::size_t>(got) > max_output - output.size()) {
                    (void)child.end(true);
                    return Error{
                        ErrorCode::Limit, "at most " + std::to_string(max_output) + " bytes from " + name, "more", {}};
                }
                output.append(buffer.data(), static_cast<std::size_t>(got));
            } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
                from_child.close();
            }
        }
    }
    to_child.close();

    int status = 0;
    if (!child.endBy(deadline, status)) {
        (void)child.end(true);
        return Error{ErrorCode::Limit,
                     "the end of " + name + " within " + std::to_string(timeout_ms) + " ms",
                     "a program that went on after its answer; it was stopped",
                     {}};
    }
    if (WIFSIGNALED(status))
        return Error{
            ErrorCode::Internal, "an answer of " + name, "its death by signal " + std::to_string(WTERMSIG(status)), {}};
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        return Error{
            ErrorCode::Internal, "an answer of " + name, "exit status " + std::to_string(WEXITSTATUS(status)), {}};
    return output;
}

std::string programFolder() {
    std::array<char, 4096> buffer{};
    const ssize_t length = readlink("/proc/self/exe", buffer.data(), buffer.size());
    if (length <= 0 || static_cast<std::size_t>(length) >= buffer.size()) return {};
    std::string path(buffer.data(), static_cast<std::size_t>(length));
    path.erase(path.rfind('/'));
    return path;
}

std::string siblingProgram(std::string_view name) {
    const std::string folder = programFolder();
    if (folder.empty()) return {};
    const std::string path = folder + "/" + std::string(name);
    return access(path.c_str(), X_OK) == 0 ? path : std::string();
}

} // namespace fusescope
