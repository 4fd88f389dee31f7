// SPDX-License-Identifier: GPL-3.0-or-later
// What tests of measuring share: the whole window on the bundled sample, with a runner that the test plays itself, and
// what they look at in it.
#pragma once

#include "tests/ui/played_runner.h"
#include "tests/ui/window_harness.h"

#include "ui/fuse/fuse_bar.h"
#include "ui/fuse/fuse_queue.h"
#include "ui/panels/findings_panel.h"

#include <QAction>
#include <QLabel>
#include <QListView>
#include <QPushButton>
#include <QTextBrowser>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <vector>

namespace fusescope {

class FuseFixture {
protected:
    // Of a whole test class; false: the sample could not be opened.
    bool open() {
        window_ = windowOnSample();
        return window_ && prepared();
    }
    void close() { window_.reset(); }
    // Of each test.
    void begin() {
        played_ = std::make_unique<PlayedRunner>();
        queue().setRunner(played_.get());
        session().clear();
    }
    void end() {
        queue().cancelAll();
        session().setMeasured({});
        while (!session().regions().empty()) session().removeRegion(session().regions().front()->id);
        queue().undoStack()->clear();
        queue().setRunner(nullptr);
        window_->banner().clear();
        played_.reset();
    }

    Session& session() { return window_->session(); }
    const Analysis& analysis() { return *session().analysis(); }
    FuseQueue& queue() { return window_->fuseQueue(); }
    FindingsPanel* findings() { return &window_->findings(); }
    QListView* list() { return findings()->findChild<QListView*>(); }
    FuseBar* bar() { return findings()->findChild<FuseBar*>(); }
    QPushButton* button() { return bar()->findChild<QPushButton*>(QStringLiteral("fuseButton")); }
    QPushButton* fuseThis() { return bar()->findChild<QPushButton*>(QStringLiteral("fuseThis")); }
    QString detail() { return findings()->findChild<QTextBrowser*>()->toPlainText(); }
    const QLabel* headlineLabel() {
        for (const QLabel* label : window_->findChildren<QLabel*>())
            if (label->text().startsWith(QLatin1String("step ")) && label->font().bold() &&
                label->parentWidget()->inherits("QToolBar"))
                return label;
        return nullptr;
    }
    QString headline() {
        const QLabel* label = headlineLabel();
        return label != nullptr ? label->text() : QString();
    }
    QString headlineTip() {
        const QLabel* label = headlineLabel();
        return label != nullptr ? label->toolTip() : QString();
    }
    QAction* action(const char* name) {
        for (QAction* one : window_->findChildren<QAction*>())
            if (one->text() == QLatin1String(name)) return one;
        return nullptr;
    }
    std::size_t rowOf(const char* id) {
        for (std::size_t row = 0; row < analysis().findings.size(); ++row)
            if (analysis().findings[row].id == id) return row;
        return 0;
    }
    std::vector<NodeId> nodes(std::initializer_list<const char*> names) {
        std::vector<NodeId> out;
        const OpGraph& ops = analysis().graph->ops;
        for (std::size_t n = 0; n < ops.nodes.size(); ++n)
            for (const char* name : names)
                if (ops.name(NodeId(n)) == name) out.emplace_back(n);
        return out;
    }
    // All shapes of a finding that is measured.
    void answerAll(std::size_t row, double before_us, double after_us, bool gpu = true) {
        int guard = 0;
        while (queue().job(row).active() && ++guard < 20) played_->answer(before_us, after_us, gpu);
    }
    bool prepared() {
        return QTest::qWaitFor([&] { return queue().prepared(); }, kLoadMs);
    }
    bool chosen() { // what was wished for is a region, or was refused
        return QTest::qWaitFor([&] { return !queue().choosing(); }, kLoadMs);
    }

    std::unique_ptr<MainWindow> window_;
    std::unique_ptr<PlayedRunner> played_;
};

} // namespace fusescope
