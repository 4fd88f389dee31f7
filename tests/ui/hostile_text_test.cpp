// SPDX-License-Identifier: GPL-3.0-or-later
// What a file or a runner says is shown as it is written: no markup of theirs is followed.
#include "tests/support/measured.h"
#include "tests/support/synthetic_analysis.h"
#include "tests/ui/window_harness.h"
#include "ui/base/tip.h"
#include "ui/fuse/fuse_words.h"
#include "ui/models/finding_model.h"

#include <QLabel>
#include <QTextDocument>

using namespace fusescope;

class HostileTextTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aTooltipIsWords() {
        const QString image = QStringLiteral("<img src='/etc/hostname'>a & b\nc");
        QVERIFY(Qt::mightBeRichText(image)); // as it is, it would be shown
        const QString tip = plainTip(image);
        QVERIFY(!tip.contains(QLatin1String("<img")));
        QTextDocument shown;
        shown.setHtml(tip);
        QCOMPARE(shown.toPlainText(), image);
        const QString kernel = QStringLiteral("void add<4, at::native::Functor<float>>(int)");
        QCOMPARE(plainTip(kernel), kernel);
    }

    void reasonsOfAFinding() {
        auto analysis = std::make_shared<Analysis>(testing::syntheticAnalysisValue());
        QVERIFY(!analysis->findings.empty());
        analysis->findings.front().reasons = {"<img src='x'>"};
        FindingModel model;
        model.setAnalysis(analysis);
        QVERIFY(!model.index(0).data(Qt::ToolTipRole).toString().contains(QLatin1String("<img")));
    }

    void theDirectionThatARunnerTells() {
        MeasuredResult result;
        result.result.on_gpu = true;
        Comparison odd;
        odd.direction = "<img src='x'>";
        odd.has_fused = true;
        odd.baseline.us = odd.fused.us = {1, 1, 1};
        result.result.directions.push_back(odd);
        MeasuredFinding finding;
        MeasuredClass one;
        one.result = &result;
        finding.classes.push_back(one);
        const QString html = measuredHtml(finding, Theme::Light);
        QVERIFY(html.contains(QLatin1String("&lt;img")));
        QVERIFY(!html.contains(QLatin1String("<img")));
    }

    void labelsOfTheWindow() {
        prepareApplication();
        const MainWindow window(false);
        int labels = 0;
        for (const auto* label : window.findChildren<QLabel*>()) {
            ++labels;
            QVERIFY2(label->textFormat() == Qt::PlainText, qPrintable(label->text()));
        }
        QVERIFY(labels > 10);
    }
};

QTEST_MAIN(HostileTextTest)
#include "hostile_text_test.moc"
