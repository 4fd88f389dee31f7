// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/whole_file.h"

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace fusescope {
namespace {

constexpr int kLookMs = 50; // between two looks at the wish to end
constexpr qsizetype kPiece = qsizetype{1} << 20;

QString ended() { return QCoreApplication::translate("fusescope::MainWindow", "that it was cancelled"); }

// A pipe may have nobody who reads, or nobody yet: it is asked again and again instead of waited for.
QString writeInto(const QString& path, const QByteArray& bytes, const Progress& end) {
    // One whose reader has left is an error like others (EPIPE), not the end of the program; QProcess does the same.
    [[maybe_unused]] static const auto before = std::signal(SIGPIPE, SIG_IGN);
    const QByteArray name = QFile::encodeName(path);
    const auto isPipe = [&] {
        struct stat what {};
        return stat(name.constData(), &what) == 0 && S_ISFIFO(what.st_mode);
    };
    int fd = -1;
    while ((fd = ::open(name.constData(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
        if (errno != ENXIO || !isPipe()) return qt_error_string(errno);
        if (end.cancelled()) return ended();
        (void)poll(nullptr, 0, kLookMs);
    }
    QString why;
    for (qsizetype done = 0; done < bytes.size() && why.isEmpty();) {
        const ssize_t sent = write(fd, bytes.constData() + done, static_cast<std::size_t>(bytes.size() - done));
        if (sent > 0) {
            done += sent;
        } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            why = qt_error_string(errno);
        } else if (end.cancelled()) {
            why = ended();
        } else {
            pollfd room{fd, POLLOUT, 0};
            (void)poll(&room, 1, kLookMs);
        }
    }
    ::close(fd);
    return why;
}

} // namespace

QString writeWhole(const QString& path, const QByteArray& bytes, const Progress& end) {
    if (const QFileInfo there(path); there.exists() && !there.isFile()) // QSaveFile would put a file in its place
        return writeInto(path, bytes, end);
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return file.errorString();
    for (qsizetype done = 0; done < bytes.size(); done += kPiece) {
        if (end.cancelled()) return ended();
        const qsizetype size = std::min(kPiece, bytes.size() - done);
        if (file.write(bytes.constData() + done, size) != size) return file.errorString();
    }
    // What is still in the buffer is only known to be written after flush().
    return !end.cancelled() && file.flush() && file.commit() ? QString()
           : end.cancelled()                                 ? ended()
                                                             : file.errorString();
}

} // namespace fusescope
