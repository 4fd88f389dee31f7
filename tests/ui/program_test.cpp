// SPDX-License-Identifier: GPL-3.0-or-later
// Exit statuses of the desktop program for what is wrong use, as those of fusescope-cli: 2, and a sentence.
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <cstdio>

class ProgramTest : public QObject {
    Q_OBJECT

    struct Run {
        int code = -1;
        QString err;
    };
    static Run run(const QStringList& arguments) {
        QProcess process;
        process.start(QStringLiteral(FUSESCOPE_BIN_DIR "/fusescope"), arguments);
        if (!process.waitForFinished(50'000)) {
            process.kill();
            process.waitForFinished();
            return {-1, QStringLiteral("did not end")};
        }
        return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
                QString::fromUtf8(process.readAllStandardError())};
    }
    static QString trace() {
        const QDir folder(QStringLiteral(FUSESCOPE_SAMPLES_DIR));
        return folder.filePath(folder.entryList({QStringLiteral("*.json.gz")}, QDir::Files).value(0));
    }

private Q_SLOTS:
    void initTestCase() {
        if (!QFileInfo(QStringLiteral(FUSESCOPE_BIN_DIR "/fusescope")).isExecutable()) QSKIP("fusescope is not built");
    }

    void wrongUseIsTwo_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        QTest::newRow("unknown option") << QStringList{QStringLiteral("--colour")} << QStringLiteral("colour");
        QTest::newRow("no value") << QStringList{QStringLiteral("--screenshot")} << QStringLiteral("screenshot");
        QTest::newRow("no file for the picture")
            << QStringList{QStringLiteral("--screenshot"), QString()} << QStringLiteral("--screenshot");
        for (const char* name : {"--fuse", "--select", "--save-session"})
            QTest::newRow(name) << QStringList{QLatin1String(name), QStringLiteral("plan")}
                                << QStringLiteral("--screenshot");
    }
    void wrongUseIsTwo() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        const Run r = run(arguments);
        QCOMPARE(r.code, 2);
        QVERIFY2(r.err.startsWith(QLatin1String("fusescope: ")) && r.err.contains(says), qPrintable(r.err));
    }

    void nothingToFuseIsNoInput() {
        const QTemporaryDir folder;
        const QString png = folder.filePath(QStringLiteral("w.png"));
        for (const char* name : {"--fuse", "--select"}) {
            const Run r = run({QStringLiteral("--screenshot"), png, QLatin1String(name), QStringLiteral("plan")});
            QCOMPARE(r.code, 3);
            QVERIFY2(r.err.contains(QLatin1String(name)), qPrintable(r.err));
        }
    }

    void namesOfNothingAreWrongUse() {
        const QTemporaryDir folder;
        const Run r = run({QStringLiteral("--screenshot"), folder.filePath(QStringLiteral("w.png")),
                           QStringLiteral("--fuse"), QStringLiteral("frobnicate"), trace()});
        QCOMPARE(r.code, 2);
        QVERIFY2(r.err.contains(QLatin1String("frobnicate")), qPrintable(r.err));
    }

    void aSessionIsNotWrittenOverAnInput() { // and says so at once, not after minutes
        const QTemporaryDir folder;
        const QString input = folder.filePath(QStringLiteral("t.json.gz"));
        QVERIFY(QFile::copy(trace(), input));
        const qint64 size = QFileInfo(input).size();
        const Run r = run({QStringLiteral("--screenshot"), folder.filePath(QStringLiteral("w.png")),
                           QStringLiteral("--save-session"), input, input});
        QCOMPARE(r.code, 2);
        QVERIFY2(r.err.contains(QLatin1String("written over an input")), qPrintable(r.err));
        QCOMPARE(QFileInfo(input).size(), size);
    }

    void aNameThatIsNoText() {
        const QTemporaryDir folder;
        const QByteArray name = QFile::encodeName(folder.path()) + "/a b\xff.json.gz";
        QFile from(trace());
        QVERIFY(from.open(QIODevice::ReadOnly));
        const QByteArray all = from.readAll();
        std::FILE* to = std::fopen(name.constData(), "wb");
        QVERIFY(to != nullptr);
        const auto size = static_cast<std::size_t>(all.size());
        QCOMPARE(std::fwrite(all.constData(), 1, size, to), size);
        std::fclose(to);
        // QProcess knows only names that are text: the shell's pattern finds it.
        QProcess shell;
        shell.setWorkingDirectory(folder.path());
        shell.start(QStringLiteral("sh"), {QStringLiteral("-c"), QStringLiteral("exec '" FUSESCOPE_BIN_DIR
                                                                                "/fusescope' --screenshot w.png a*")});
        const bool ended = shell.waitForFinished(50'000);
        std::remove(name.constData()); // Qt could not
        QVERIFY(ended);
        QVERIFY2(shell.exitCode() == 0, shell.readAllStandardError().constData());
        QVERIFY(QFileInfo::exists(folder.filePath(QStringLiteral("w.png"))));
    }

    void thePictureIsNotWrittenOverAnInput() {
        const QTemporaryDir folder;
        const QString input = folder.filePath(QStringLiteral("a b\u00fc.json.gz"));
        QVERIFY(QFile::copy(trace(), input));
        const qint64 size = QFileInfo(input).size();
        const Run r = run({QStringLiteral("--screenshot"), input, input});
        QCOMPARE(r.code, 2);
        QVERIFY2(r.err.contains(QLatin1String("input")), qPrintable(r.err));
        QCOMPARE(QFileInfo(input).size(), size);
    }
};

QTEST_GUILESS_MAIN(ProgramTest)
#include "program_test.moc"
