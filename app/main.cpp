// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/banner.h"
#include "app/icons.h"
#include "app/loose_threads.h"
#include "app/main_window.h"
#include "app/screenshot.h"

#include "core/ipc/exit_codes.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QFile>
#include <QStyleFactory>

#include <cstdio>
#include <cstdlib>
#include <optional>

namespace {

// Qt ends the program with abort() when it cannot open a display: a person gets a sentence and an exit status instead.
// Only while the application object is made; what it says up to there is about the same end and less clear.
void noDisplay(QtMsgType type, const QMessageLogContext&, const QString&) {
    if (type == QtFatalMsg) {
        const QByteArray display = qgetenv(qEnvironmentVariableIsSet("DISPLAY") ? "DISPLAY" : "WAYLAND_DISPLAY");
        std::fprintf(stderr,
                     "fusescope: expected a display for the window, found %s%s; --screenshot with "
                     "QT_QPA_PLATFORM=offscreen and fusescope-cli need none\n",
                     display.isEmpty() ? "none" : "none that answers at ", display.constData());
        std::_Exit(fusescope::kExitUsage);
    }
}

} // namespace

int main(int argc, char** argv) {
    using namespace fusescope;
    QCoreApplication::setOrganizationName(QStringLiteral("FuseScope"));
    QCoreApplication::setApplicationName(QStringLiteral("FuseScope"));
    QCoreApplication::setApplicationVersion(QStringLiteral(FUSESCOPE_VERSION));

    QCommandLineParser parser;
    parser.setApplicationDescription(
        QCoreApplication::translate("main", "Finds the regions of a PyTorch model step that one kernel could do."));
    const QCommandLineOption help = parser.addHelpOption(), version = parser.addVersionOption();
    parser.addPositionalArgument(QStringLiteral("files"),
                                 QCoreApplication::translate("main", "Traces and model graphs, in any order"),
                                 QStringLiteral("[files...]"));
    const QCommandLineOption shot(QStringLiteral("screenshot"),
                                  QCoreApplication::translate("main", "Draw the window into a PNG and leave"),
                                  QStringLiteral("png"));
    const QCommandLineOption size(QStringLiteral("size"), QCoreApplication::translate("main", "Size of the window"),
                                  QStringLiteral("WxH"), QStringLiteral("1600x1000"));
    const QCommandLineOption theme(QStringLiteral("theme"),
                                   QCoreApplication::translate("main", "light or dark, for this run"),
                                   QStringLiteral("name"));
    const QCommandLineOption select(
        QStringLiteral("select"),
        QCoreApplication::translate("main", "What to select: finding:ID, module:PATH, nodes:A,B or kernel:N"),
        QStringLiteral("what"));
    const QCommandLineOption fuse(
        QStringLiteral("fuse"),
        QCoreApplication::translate(
            "main",
            "What to measure before the picture: ids of findings with commas between, plan, module:PATH or nodes:A,B"),
        QStringLiteral("what"));
    const QCommandLineOption save_session(
        QStringLiteral("save-session"),
        QCoreApplication::translate("main", "Where to save the session after the picture, with what was measured"),
        QStringLiteral("file.fusescope"));
    const QCommandLineOption wait(QStringLiteral("wait"),
                                  QCoreApplication::translate("main", "Milliseconds to rest before the picture"),
                                  QStringLiteral("ms"), QStringLiteral("250"));
    parser.addOptions({shot, size, theme, select, fuse, save_session, wait});

    // What only prints text needs no display. Other options are read later: QApplication takes its own ones out first.
    QStringList words;
    for (int i = 0; i < argc; ++i) words << QString::fromLocal8Bit(argv[i]);
    parser.parse(words);
    if (parser.isSet(version) || parser.isSet(help)) {
        const QCoreApplication text_only(argc, argv);
        if (parser.isSet(version)) parser.showVersion();
        parser.showHelp();
    }
    // A picture needs no display either.
    const bool nowhere = qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
    if (parser.isSet(shot) && nowhere && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");

    const QtMessageHandler usual = qInstallMessageHandler(noDisplay);
    QApplication app(argc, argv);
    qInstallMessageHandler(usual);
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QApplication::setWindowIcon(appIcon());
    if (!parser.parse(QCoreApplication::arguments())) {
        std::fprintf(stderr, "fusescope: %s (--help lists the options)\n", qUtf8Printable(parser.errorText()));
        return kExitUsage;
    }
    const bool screenshot = !parser.value(shot).isEmpty();
    for (const QCommandLineOption& option : {shot, select, fuse, save_session})
        if (!screenshot && parser.isSet(option)) {
            std::fprintf(stderr, "fusescope: expected a file for --screenshot with --%s, found none\n",
                         qUtf8Printable(option.names().front()));
            return kExitUsage;
        }

    ScreenshotOptions options;
    options.path = parser.value(shot);
    options.select = parser.value(select);
    options.fuse = parser.value(fuse);
    options.session = parser.value(save_session);
    if (!parseSize(parser.value(size), options.size)) {
        std::fputs("fusescope: expected --size as WIDTHxHEIGHT between 1100x700 and 7680x4320\n", stderr);
        return kExitUsage;
    }
    bool number = false;
    options.wait_ms = parser.value(wait).toInt(&number);
    if (!number || options.wait_ms < 0 || options.wait_ms > 60'000) {
        std::fputs("fusescope: expected --wait as milliseconds between 0 and 60000\n", stderr);
        return kExitUsage;
    }
    const QString theme_name = parser.value(theme);
    if (!theme_name.isEmpty() && theme_name != QLatin1String("light") && theme_name != QLatin1String("dark")) {
        std::fputs("fusescope: expected --theme light or dark\n", stderr);
        return kExitUsage;
    }

    std::optional<MainWindow> opened(std::in_place, !screenshot);
    MainWindow& window = *opened;
    if (!theme_name.isEmpty())
        window.setTheme(theme_name == QLatin1String("dark") ? settings::ThemeChoice::Dark
                                                            : settings::ThemeChoice::Light);
    for (int i = 1; i < argc; ++i) // a file name is bytes: QString would lose those that are no text
        if (const QString shown = QString::fromLocal8Bit(argv[i]); QFile::encodeName(shown) != argv[i])
            window.setBytesOfName(shown, argv[i]);
    int status = kExitOk;
    if (screenshot) {
        status = takeScreenshot(window, parser.positionalArguments(), options);
    } else {
        window.show();
        window.open(parser.positionalArguments());
        status = QApplication::exec();
    }
    opened.reset();
    if (LooseThreads::someStillRun()) { // they would use what the program's end takes apart
        std::fflush(nullptr);
        std::_Exit(status);
    }
    return status;
}
