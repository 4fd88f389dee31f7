// SPDX-License-Identifier: GPL-3.0-or-later
// A window that is closed in the middle of reading or writing files: its end waits for none of them, and leaves no
// half of one. A thread that had to be left behind would still run.
#include "app/loose_threads.h"
#include "app/session_file.h"
#include "app/whole_file.h"
#include "tests/ui/window_harness.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

namespace fusescope {
namespace {

constexpr qint64 kHuge = qint64{1} << 40; // takes no room on the disk, and hours to hash

QString pipeIn(const QTemporaryDir& folder) {
    const QString path = folder.filePath(QStringLiteral("pipe.fusescope"));
    return mkfifo(QFile::encodeName(path).constData(), 0600) == 0 ? path : QString();
}

} // namespace

class ClosingTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { prepareApplication(); }
    void init() { window_ = std::make_unique<MainWindow>(false); }

    void cleanup() { window_.reset(); }

    void whileInputsAreHashedForASession() {
        const QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("t.json.gz"));
        QVERIFY(QFile::copy(sampleTrace(), trace));
        QFile file(trace);
        QVERIFY(file.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner) && file.resize(kHuge));
        QVERIFY(openAndSettle(*window_, {trace})); // read up to the end of the gzip data
        window_->saveSession(folder.filePath(QStringLiteral("s.fusescope")));
        window_.reset();
        QVERIFY(!LooseThreads::someStillRun());
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files), QStringList{QStringLiteral("t.json.gz")});
    }

    void whileInputsOfASessionAreRead() {
        const QTemporaryDir folder;
        QFile huge(folder.filePath(QStringLiteral("huge.json")));
        QVERIFY(huge.open(QIODevice::WriteOnly) && huge.resize(kHuge));
        SessionFile session;
        session.inputs.append({huge.fileName(), "0"});
        const QString path = folder.filePath(QStringLiteral("s.fusescope"));
        QCOMPARE(writeWhole(path, *sessionJson(session)), QString());
        window_->openSession(path);
        window_.reset(); // before the folder goes
        QVERIFY(!LooseThreads::someStillRun());
    }

    void whileNobodyReadsAPipe() {
        const QTemporaryDir folder;
        const QString pipe = pipeIn(folder);
        QVERIFY(openAndSettle(*window_, {sampleTrace()}));
        window_->saveSession(pipe);
        window_.reset();
        QVERIFY(!LooseThreads::someStillRun());
    }

    // Save and close at once: what is quick is there.
    void whatWasSavedJustBeforeIsThere() {
        const QTemporaryDir folder;
        QVERIFY(openAndSettle(*window_, {sampleTrace()}));
        const QString path = folder.filePath(QStringLiteral("s.fusescope"));
        window_->saveSession(path);
        window_.reset();
        const Result<SessionFile> read = readSessionFile(path);
        QVERIFY(read.ok());
        QCOMPARE(read->inputs.front().sha256, sha256Of(sampleTrace()));
    }

    void aPipeGetsAllOfItAndAnEndInBetween() {
        const QTemporaryDir folder;
        const QString pipe = pipeIn(folder);
        const QByteArray bytes(1'000'000, 'x'); // more than a pipe holds
        QByteArray got;
        std::thread reader([&] {
            QFile file(pipe);
            if (file.open(QIODevice::ReadOnly)) got = file.readAll();
        });
        const QString why = writeWhole(pipe, bytes);
        reader.join();
        QCOMPARE(why, QString());
        QCOMPARE(got, bytes);
        // Somebody who has it open and takes nothing.
        const int idle = ::open(QFile::encodeName(pipe).constData(), O_RDONLY | O_NONBLOCK);
        QVERIFY(idle >= 0);
        Progress end;
        end.cancel();
        QVERIFY(!writeWhole(pipe, bytes, end).isEmpty());
        ::close(idle);
        QVERIFY(!writeWhole(pipe, bytes, end).isEmpty()); // nobody at all
    }

    void aReaderThatLeavesIsAnError() {
        const QTemporaryDir folder;
        const QString pipe = pipeIn(folder);
        std::thread reader([&] {
            const int fd = ::open(QFile::encodeName(pipe).constData(), O_RDONLY);
            char some[100];
            (void)!read(fd, some, sizeof some);
            ::close(fd);
        });
        const QString why = writeWhole(pipe, QByteArray(1'000'000, 'x')); // more than a pipe holds
        reader.join();
        QVERIFY(!why.isEmpty());
    }

    void aFileThatIsGivenUpLeavesWhatWasThere() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a"));
        QCOMPARE(writeWhole(path, "before"), QString());
        Progress end;
        end.cancel();
        QVERIFY(!writeWhole(path, "after", end).isEmpty());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), QByteArray("before"));
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files), QStringList{QStringLiteral("a")});
        QVERIFY(sha256Of(path, end).isEmpty());
        // Of FIPS 180-2.
        QCOMPARE(writeWhole(path, "abc"), QString());
        QCOMPARE(sha256Of(path), QByteArray("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    }

private:
    std::unique_ptr<MainWindow> window_;
};

} // namespace fusescope

QTEST_MAIN(fusescope::ClosingTest)
#include "closing_test.moc"
