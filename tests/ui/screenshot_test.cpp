// SPDX-License-Identifier: GPL-3.0-or-later
// The program itself, as ./dev and CI call it: pictures, exit statuses, sentences.
#include <QDir>
#include <QFileInfo>
#include <QImage>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

class ScreenshotTest : public QObject {
    Q_OBJECT

    struct Run {
        int code = -1;
        QString out, err;
    };
    static Run run(const QStringList& arguments, const QString& display = QStringLiteral("as here")) {
        QProcess process;
        if (display != QLatin1String("as here")) { // as on a machine without a screen, or with another one
            QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
            for (const char* name : {"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"})
                environment.remove(QLatin1String(name));
            if (!display.isEmpty()) environment.insert(QStringLiteral("DISPLAY"), display);
            process.setProcessEnvironment(environment);
        }
        process.start(QStringLiteral(FUSESCOPE_BIN_DIR "/fusescope"), arguments);
        if (!process.waitForFinished(50'000)) process.kill();
        return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
                QString::fromUtf8(process.readAllStandardOutput()), QString::fromUtf8(process.readAllStandardError())};
    }
    static QStringList samples() {
        QStringList paths;
        const QDir folder(QStringLiteral(FUSESCOPE_SAMPLES_DIR));
        const QStringList names = folder.entryList({QStringLiteral("*.pt2"), QStringLiteral("*.json.gz")}, QDir::Files);
        for (const QString& name : names) paths << folder.filePath(name);
        return paths;
    }

private Q_SLOTS:
    void initTestCase() {
        if (!QFileInfo(QStringLiteral(FUSESCOPE_BIN_DIR "/fusescope")).isExecutable()) QSKIP("fusescope is not built");
    }

    void drawsTheSample() {
        const QTemporaryDir folder;
        const QString png = folder.filePath(QStringLiteral("window.png"));
        const Run r = run(QStringList{QStringLiteral("--screenshot"), png, QStringLiteral("--size"),
                                      QStringLiteral("1280x800"), QStringLiteral("--theme"), QStringLiteral("dark"),
                                      QStringLiteral("--select"), QStringLiteral("finding:rms_norm")} +
                          samples());
        QVERIFY2(r.code == 0, qPrintable(r.err));
        QCOMPARE(r.out.trimmed(), QFileInfo(png).absoluteFilePath());
        const QImage image(png);
        QCOMPARE(image.size(), QSize(1280, 800));
    }

    void fusesOneAfterTheOtherAndSaves() {
        const QTemporaryDir folder;
        const QString session = folder.filePath(QStringLiteral("s.fusescope"));
        qputenv("FUSESCOPE_RUNNER", FUSESCOPE_FAKE_RUNNER " good");
        const Run r =
            run(QStringList{QStringLiteral("--screenshot"), folder.filePath(QStringLiteral("w.png")),
                            QStringLiteral("--fuse"), QStringLiteral("rope,swiglu"), QStringLiteral("--select"),
                            QStringLiteral("finding:attention"), QStringLiteral("--save-session"), session} +
                samples());
        qputenv("FUSESCOPE_RUNNER", FUSESCOPE_FAKE_RUNNER " out_of_memory");
        const Run failed = run(QStringList{QStringLiteral("--screenshot"), folder.filePath(QStringLiteral("f.png")),
                                           QStringLiteral("--fuse"), QStringLiteral("rope")} +
                               samples());
        qunsetenv("FUSESCOPE_RUNNER");
        QVERIFY2(r.code == 0, qPrintable(r.err));
        QVERIFY2(r.err.indexOf(QLatin1String("rope: measured in")) >= 0 &&
                     r.err.indexOf(QLatin1String("swiglu: measured in")) >
                         r.err.indexOf(QLatin1String("rope: measured in")),
                 qPrintable(r.err));
        QFile file(session);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QJsonObject saved = QJsonDocument::fromJson(file.readAll()).object();
        QCOMPARE(saved[QLatin1String("selection")].toString(), QStringLiteral("finding:attention"));
        const QJsonArray measured = saved[QLatin1String("measured")].toArray();
        QVERIFY(measured.size() >= 2);
        QCOMPARE(failed.code, 4);
        QVERIFY2(failed.err.contains(QLatin1String("rope: ")), qPrintable(failed.err));
        QVERIFY(QFileInfo::exists(folder.filePath(QStringLiteral("f.png")))); // the picture shows what went wrong
    }

    void whatCannotBeFusedIsOneSentence() {
        const QTemporaryDir folder;
        for (const char* what : {"module:model.nowhere", "nodes:nowhere", "nowhere"}) {
            const Run r = run(QStringList{QStringLiteral("--screenshot"), folder.filePath(QStringLiteral("w.png")),
                                          QStringLiteral("--fuse"), QLatin1String(what)} +
                              samples());
            QCOMPARE(r.code, 2);
            QVERIFY2(r.err.contains(QLatin1String(what)), qPrintable(r.err));
            QCOMPARE(r.err.count(QLatin1Char('\n')), 1);
        }
    }

    void nothingUsable() {
        const QTemporaryDir folder;
        const Run r = run({QStringLiteral("--screenshot"), folder.filePath(QStringLiteral("none.png")),
                           QStringLiteral(FUSESCOPE_TEST_DATA_DIR "/bad/not-zip.pt2")});
        QCOMPARE(r.code, 3);
        QVERIFY2(r.err.contains(QLatin1String("expected")) && r.err.contains(QLatin1String("found")),
                 qPrintable(r.err));
        QVERIFY(r.out.isEmpty());
    }

    void wrongUse() {
        QCOMPARE(run({QStringLiteral("--screenshot"), QStringLiteral("x.png"), QStringLiteral("--size"),
                      QStringLiteral("big")})
                     .code,
                 2);
        QCOMPARE(run({QStringLiteral("--theme"), QStringLiteral("pink")}).code, 2);
    }

    void version() {
        const Run r = run({QStringLiteral("--version")});
        QCOMPARE(r.code, 0);
        QVERIFY(r.out.contains(QLatin1String("FuseScope")));
    }

    void wordsNeedNoDisplay() {
        for (const char* option : {"--help", "--version", "-h", "-v"}) {
            const Run r = run({QLatin1String(option)}, {});
            QVERIFY2(r.code == 0 && !r.out.isEmpty(), option);
            QVERIFY2(r.err.isEmpty(), qPrintable(r.err));
        }
    }

    void picturesNeedNoDisplay() {
        const QTemporaryDir folder;
        const QString png = folder.filePath(QStringLiteral("empty.png"));
        const Run r = run({QStringLiteral("--screenshot"), png}, {});
        QVERIFY2(r.code == 0, qPrintable(r.err));
        QVERIFY2(r.err.isEmpty(), qPrintable(r.err));
        QCOMPARE(QImage(png).size(), QSize(1600, 1000));
    }

    void aDisplayThatIsNotThereIsASentence() {
        for (const char* display : {"", ":4711"}) {
            const Run r = run({}, QLatin1String(display));
            QCOMPARE(r.code, 2);
            QVERIFY2(r.err.startsWith(QLatin1String("fusescope: expected a display")), qPrintable(r.err));
            QCOMPARE(r.err.count(QLatin1Char('\n')), 1);
        }
    }
};

QTEST_GUILESS_MAIN(ScreenshotTest)
#include "screenshot_test.moc"
