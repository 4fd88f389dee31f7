// SPDX-License-Identifier: Apache-2.0
// File descriptors of a child's pipes, closed once and never inherited. Private to core/ipc.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>

namespace fusescope::ipc {

inline std::string reason(int code) { return std::generic_category().message(code); }

class Descriptor {
public:
    Descriptor() = default;
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }
    void set(int fd) { fd_ = fd; }
    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool open() const { return fd_ >= 0; }
    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

private:
    int fd_ = -1;
};

inline bool makePipe(Descriptor& read_end, Descriptor& write_end) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    bool good = true;
    for (int& end : ends) {
        if (end > STDERR_FILENO) continue; // a program started with a closed stdin: a child's descriptors go there
        const int higher = fcntl(end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        ::close(end);
        end = higher;
        good = good && end >= 0;
    }
    read_end.set(ends[0]);
    write_end.set(ends[1]);
    return good;
}

// Writing to a child that is gone must be an error here, not a signal that ends us. The signal is blocked in this
// thread only, and one that arrived meanwhile is taken away.
class WithoutSigpipe {
public:
    WithoutSigpipe() {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        sigemptyset(&pending);
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    WithoutSigpipe(const WithoutSigpipe&) = delete;
    WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
    ~WithoutSigpipe() {
        if (!was_pending_) {
            const timespec none{0, 0};
            while (sigtimedwait(&pipe_, nullptr, &none) == -1 && errno == EINTR) {
            }
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t pipe_{}, before_{};
    bool was_pending_ = false;
};

} // namespace fusescope::ipc
