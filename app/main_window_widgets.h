// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of MainWindow that only its own files see.
#pragma once

#include "app/loose_threads.h"
#include "app/main_window.h"

#include <QAction>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QToolBar>
#include <QToolButton>

#include <array>
#include <vector>

namespace fusescope {

class Welcome;

struct MainWindow::Widgets {
    explicit Widgets(MainWindow* window) : files(window) {}
    QStackedWidget* centre = nullptr;
    Welcome* welcome = nullptr;
    QDockWidget *model = nullptr, *roofline = nullptr, *findings = nullptr, *timeline = nullptr, *tables = nullptr;
    QToolBar* bar = nullptr;
    QComboBox *step = nullptr, *device = nullptr;
    QLineEdit* search = nullptr;
    QAction *fuse_button = nullptr, *busy_place = nullptr; // in the bar; they give way to the headline
    QLabel *busy = nullptr, *headline = nullptr, *status = nullptr, *stage = nullptr;
    QToolButton* problems = nullptr;
    QProgressBar* progress = nullptr;
    QPushButton* cancel = nullptr;
    QMenu* recent = nullptr;
    QAction *fuse = nullptr, *fuse_plan = nullptr, *cancel_fuse = nullptr, *clear_measured = nullptr;
    QAction *back = nullptr, *forward = nullptr, *open = nullptr, *close = nullptr;
    std::array<QAction*, 3> themes{}; // by ThemeChoice
    std::vector<QAction*> exports;    // need an analysis
    LooseThreads files;               // write reports, read and write sessions
};

} // namespace fusescope
