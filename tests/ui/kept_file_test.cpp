// SPDX-License-Identifier: GPL-3.0-or-later
// The file that measured results are kept in: written whole or not at all, by one program at a time.
#include "app/kept_results.h"
#include "app/whole_file.h"
#include "tests/ui/window_harness.h"

#include <QLockFile>
#include <QProcess>
#include <QTemporaryDir>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace fusescope {
namespace {

SessionFile oneSession() {
    SessionFile session;
    session.inputs.append({QStringLiteral("/a"), {}});
    MeasuredResult m;
    m.finding = "rms_norm";
    m.instance_class = "x";
    m.result.device = "GPU";
    session.measured.set(m);
    return session;
}

// While it lives no file of this program can grow, as where the disk is full.
class FullDisk {
public:
    FullDisk() {
        getrlimit(RLIMIT_FSIZE, &before_);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        const rlimit none{0, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &none);
    }
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

private:
    rlimit before_{};
    void (*handler_)(int) = nullptr;
};

// As a window that has written nothing there yet.
bool keep(const QString& path, const SessionFile& session) {
    MeasuredFile known;
    return keepResults(path, session, known) == Kept::Yes;
}

// What a window of another process does: results one after the other, each told when it is kept.
constexpr int kResults = 40;
int keepMany(const QString& path, const QString& who) {
    SessionFile session = oneSession();
    session.measured.clear();
    MeasuredFile known;
    for (int i = 0; i < kResults; ++i) {
        MeasuredResult m;
        m.finding = who.toStdString() + std::to_string(i);
        m.instance_class = "x";
        session.measured.set(m);
        Kept kept = Kept::Busy;
        while ((kept = keepResults(path, session, known)) == Kept::Busy) {
        }
        if (kept != Kept::Yes) return 1;
        std::printf("%s\n", m.finding.c_str());
        std::fflush(stdout);
    }
    return 0;
}

} // namespace

class KeptFileTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { prepareApplication(); }

    // Less than a buffer holds is written only when the file is closed.
    void aFileIsWrittenWholeOrNotAtAll() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a"));
        QCOMPARE(writeWhole(path, "before"), QString());
        for (const qsizetype size : {qsizetype{10}, qsizetype{100'000}}) {
            const FullDisk full;
            QVERIFY(!writeWhole(path, QByteArray(size, 'x')).isEmpty());
        }
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), QByteArray("before"));
        QCOMPARE(filesIn(folder.path()), QStringList{QStringLiteral("a")});
        QVERIFY(!writeWhole(folder.filePath(QStringLiteral("none/a")), "x").isEmpty());
        if (QFile::exists(QStringLiteral("/dev/full"))) {
            const QString why = writeWhole(QStringLiteral("/dev/full"), "x");
            QVERIFY2(why.contains(QLatin1String("No space left")), qPrintable(why));
        }
    }

    void twoWindowsWriteApart() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("kept/a.fusescope"));
        // As another window would that is in the middle of its writing.
        QVERIFY(QDir().mkpath(QFileInfo(path).path()) && QDir().mkpath(path + QStringLiteral(".part")));
        SessionFile session = oneSession();
        QVERIFY(keep(path, session));
        QVERIFY(keptResults(path).has_value());
    }

    // Three programs write one file at once, and one of them is killed: what any of them had kept is there.
    void whatSeveralProgramsKeepIsThere() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a.fusescope"));
        QProcess programs[3];
        for (int i = 0; i < 3; ++i)
            programs[i].start(QCoreApplication::applicationFilePath(),
                              {QStringLiteral("keep"), path, QString(QLatin1Char(static_cast<char>('a' + i)))});
        QByteArray told;
        while (told.count('\n') < 5) {
            QVERIFY(programs[0].waitForReadyRead(kLoadMs));
            told += programs[0].readAllStandardOutput();
        }
        programs[0].kill();
        for (QProcess& program : programs) {
            QVERIFY(program.waitForFinished(kLoadMs));
            told += program.readAllStandardOutput();
        }
        QCOMPARE(programs[1].exitCode() + programs[2].exitCode(), 0);
        const std::optional<SessionFile> kept = keptResults(path);
        QVERIFY(kept.has_value());
        const QList<QByteArray> names = told.split('\n');
        QVERIFY(names.size() > 2 * kResults + 5); // and the end of the last line
        for (const QByteArray& name : names)
            QVERIFY2(name.isEmpty() || kept->measured.any(name.toStdString()), name.constData());
    }

    // What stands there is no lock, nor goes away: waiting for it would be for ever, and say nothing.
    void aLockThatCannotBeTakenAwayIsSaid() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("kept.fusescope"));
        const QString lock = path + QStringLiteral(".lock");
        QVERIFY(QDir().mkpath(lock));
        MeasuredFile known;
        QCOMPARE(keepResults(path, oneSession(), known), Kept::Busy);
        timespec times[2] = {}; // of an hour ago
        times[0].tv_sec = times[1].tv_sec = std::time(nullptr) - 3600;
        QCOMPARE(utimensat(AT_FDCWD, QFile::encodeName(lock).constData(), times, 0), 0);
        QCOMPARE(keepResults(path, oneSession(), known), Kept::No);
        QVERIFY(QDir().rmdir(lock));
        QCOMPARE(keepResults(path, oneSession(), known), Kept::Yes);
    }

    // A program that is killed before its name stands in the lock leaves one that only age tells. One that grows old
    // while it is looked at is the next one's to take away: no failure.
    void aLockThatGrowsOldIsNoFailure() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("kept.fusescope"));
        const QByteArray lock = QFile::encodeName(path + QStringLiteral(".lock"));
        for (int round = 0; round < 800; ++round) {
            QFile empty(QFile::decodeName(lock));
            QVERIFY(empty.open(QIODevice::WriteOnly));
            empty.close();
            timespec times[2] = {}; // 10 s old within the next 2 ms
            std::timespec_get(&times[1], TIME_UTC);
            times[1].tv_sec -= 10;
            times[1].tv_nsec += (round % 200) * 10'000;
            times[1].tv_sec += times[1].tv_nsec / 1'000'000'000;
            times[1].tv_nsec %= 1'000'000'000;
            times[0] = times[1];
            QCOMPARE(utimensat(AT_FDCWD, lock.constData(), times, 0), 0);
            MeasuredFile known;
            Kept kept = keepResults(path, oneSession(), known, 1);
            QVERIFY2(kept != Kept::No, std::to_string(round).c_str());
            QFile::remove(QFile::decodeName(lock));
        }
    }

    void aFullDiskLeavesWhatIsThere() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a.fusescope"));
        SessionFile session = oneSession();
        QVERIFY(keep(path, session));
        {
            const FullDisk full;
            session.selection = QStringLiteral("finding:later");
            QVERIFY(!keep(path, session));
        }
        QVERIFY(keptResults(path).has_value());
        QCOMPARE(filesIn(folder.path()).size(), 1);
    }

    void whatCouldNotBeReadAgainLeavesTheFileAsItWas() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a.fusescope"));
        SessionFile session = oneSession();
        QVERIFY(keep(path, session));
        MeasuredFile known{session.measured, {}};
        session.regions.resize(1001);
        QVERIFY(!sessionJson(session).ok());
        QCOMPARE(keepResults(path, session, known), Kept::TooMuch);
        QVERIFY(keptResults(path).has_value());
        session.regions.resize(1000);
        QCOMPARE(keepResults(path, session, known), Kept::Yes);
        QCOMPARE(keptResults(path)->regions.size(), std::size_t{1000});
        ChosenRegion long_name;
        long_name.nodes.emplace_back(65'537, 'n');
        QVERIFY(!fitsIntoFile(long_name));
        session.regions = {long_name};
        QCOMPARE(keepResults(path, session, known), Kept::TooMuch);
        long_name.nodes.front().pop_back();
        QVERIFY(fitsIntoFile(long_name));
        session.regions = {long_name};
        QCOMPARE(keepResults(path, session, known), Kept::Yes);
    }

    void whatIsNoFileOfResultsIsLeftAlone() {
        const QTemporaryDir folder;
        const QString pipe = folder.filePath(QStringLiteral("pipe.fusescope"));
        QCOMPARE(mkfifo(QFile::encodeName(pipe).constData(), 0600), 0);
        QVERIFY(!keptResults(pipe)); // without waiting for somebody who writes
        QVERIFY(!keptResults(folder.path()));
        QFile large(folder.filePath(QStringLiteral("large.fusescope")));
        QVERIFY(large.open(QIODevice::WriteOnly) && large.resize(qint64{1} << 40)); // takes no room on the disk
        QVERIFY(!keptResults(large.fileName()));
    }

    void theOldestOfManyGo() {
        const QTemporaryDir folder;
        const SessionFile session = oneSession();
        for (int i = 0; i < 60; ++i) {
            const QString path = folder.filePath(QStringLiteral("%1.fusescope").arg(i));
            QVERIFY(keep(path, session));
            QFile file(path);
            QVERIFY(file.open(QIODevice::ReadWrite));
            QVERIFY(
                file.setFileTime(QDateTime::fromSecsSinceEpoch(1'000'000'000 + i), QFileDevice::FileModificationTime));
        }
        const QStringList left = filesIn(folder.path());
        QVERIFY(left.size() <= 51);
        QVERIFY(!left.contains(QStringLiteral("0.fusescope")));
        QVERIFY(left.contains(QStringLiteral("59.fusescope")));
    }
};

} // namespace fusescope

int main(int argc, char** argv) {
    if (argc == 4 && std::string_view(argv[1]) == "keep") {
        const QCoreApplication application(argc, argv); // locks name the program
        return fusescope::keepMany(QString::fromLocal8Bit(argv[2]), QString::fromLocal8Bit(argv[3]));
    }
    const QApplication application(argc, argv);
    fusescope::KeptFileTest test;
    return QTest::qExec(&test, argc, argv);
}
#include "kept_file_test.moc"
