// SPDX-License-Identifier: GPL-3.0-or-later
// Runs that do not stop when they are told to: as where a file system hangs.
#include "app/loader.h"
#include "app/loose_threads.h"

#include <QSignalSpy>
#include <QTest>

#include <future>
#include <memory>

namespace fusescope {
namespace {

constexpr int kWaitMs = 20'000;

// Where the first path is "stuck", it hangs until it is let go of, whatever it is told.
struct Files {
    std::promise<void> go;
    std::shared_future<void> gone{go.get_future()};

    [[nodiscard]] Loader::Analyse reader() const {
        return [gone = gone](const std::vector<std::string>& paths, const AnalyzeOptions&, Progress&,
                             const AnalysisPtr&, std::vector<Error>*) -> Result<AnalysisPtr> {
            if (paths.front() == "stuck") gone.wait();
            auto analysis = std::make_shared<Analysis>();
            analysis->files = paths;
            return AnalysisPtr(analysis);
        };
    }
};

} // namespace

class LoaderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aStuckRunHoldsNothingUp() {
        Files files;
        Loader loader(nullptr, files.reader());
        QStringList shown;
        connect(&loader, &Loader::finished, this,
                [&](const AnalysisPtr& a) { shown << QString::fromStdString(a->files.front()); });
        loader.start({"stuck"}, {}, nullptr);
        QSignalSpy stopped(&loader, &Loader::stopped);
        for (const char* path : {"a", "b"}) {
            loader.start({path}, {}, nullptr);
            QVERIFY(stopped.wait(kWaitMs));
        }
        QCOMPARE(shown, (QStringList{QStringLiteral("a"), QStringLiteral("b")}));
        files.go.set_value();
        QTRY_VERIFY_WITH_TIMEOUT(!LooseThreads::someStillRun(), kWaitMs);
        QTest::qWait(20);
        QCOMPARE(shown.size(), 2); // what it found is thrown away
    }

    void theEndDoesNotWaitForIt() {
        Files files;
        auto loader = std::make_unique<Loader>(nullptr, files.reader());
        loader->start({"stuck"}, {}, nullptr);
        loader.reset();
        QVERIFY(LooseThreads::someStillRun());
        files.go.set_value();
        QTRY_VERIFY_WITH_TIMEOUT(!LooseThreads::someStillRun(), kWaitMs);
        QTest::qWait(20); // nobody is told
    }
};

} // namespace fusescope

QTEST_GUILESS_MAIN(fusescope::LoaderTest)
#include "loader_test.moc"
