// SPDX-License-Identifier: GPL-3.0-or-later
// The window: views in docks around the graph, one session, one loader.
#pragma once

#include "app/opened_files.h"
#include "app/settings.h"
#include "core/analysis/analysis.h"
#include "core/measured/measured_json.h"

#include <QMainWindow>
#include <QStringList>
#include <QTimer>

#include <map>
#include <memory>
#include <string>
#include <utility>

class QDragEnterEvent;
class QDropEvent;
class QCloseEvent;

namespace fusescope {

class Banner;
class FindingsPanel;
class FuseQueue;
class GraphPanel;
class Loader;
class ModelPanel;
class RooflinePanel;
class RunnerChild;
class Session;
class TablesPanel;
class TimelinePanel;
struct SessionFile;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    // remember: restore and save geometry, docks and theme (off for screenshots and tests).
    explicit MainWindow(bool remember, QWidget* parent = nullptr);
    ~MainWindow() override;

    void open(const QStringList& paths);
    // For names that are no text in any encoding: what the system knows a file by that open() is given as `shown`.
    void setBytesOfName(const QString& shown, std::string bytes) { bytes_of_name_[shown] = std::move(bytes); }
    void openSample();
    void saveSession(const QString& path); // exported() tells the end
    void openSession(const QString& path);
    [[nodiscard]] QString savePicture(const QString& path); // as PNG; a sentence when it was not written, else ""
    bool select(const QString& what);          // as pickOf() and nodesOf() read it; false: it names nothing here
    void keepResultsIn(const QString& folder); // measured results, of each set of inputs; "" keeps none
    void closeFiles();                         // back to the welcome page
    void resetLayout();
    void setTheme(settings::ThemeChoice choice); // for this window's life; what was chosen in a menu stays the choice
    [[nodiscard]] bool settled() const;          // nothing is loading, no region is being made, the graph is laid out
    [[nodiscard]] Session& session() { return *session_; }
    [[nodiscard]] Loader& loader() { return *loader_; }
    [[nodiscard]] Banner& banner() { return *banner_; }
    [[nodiscard]] TimelinePanel& timeline() { return *timeline_; }
    [[nodiscard]] GraphPanel& graph() { return *graph_; }
    [[nodiscard]] FindingsPanel& findings() { return *findings_; }
    [[nodiscard]] FuseQueue& fuseQueue() { return *fuse_; }
    [[nodiscard]] RunnerChild& runner() { return *runner_; }
    void chooseRunner();
    void calibrate();
    // Files of the bundled sample, empty if they are not installed beside the program.
    [[nodiscard]] static QStringList sampleFiles();

Q_SIGNALS:
    void exported(const QString& path, bool ok);

protected:
    bool event(QEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    enum class Export { Html, Markdown, Json };

    void buildViews();
    void trimTitles();
    void buildToolBar();
    void buildMenus();
    void buildStatusBar();
    void buildFuse();
    void buildFuseMenu();
    void updateFuse();
    void fuseSelection();
    [[nodiscard]] bool selectionIsRegion() const;
    void fitBar();

    void applyTheme();
    void detectSystemTheme();
    void chooseTheme(settings::ThemeChoice choice); // remembered
    void toggleTheme();
    void showProblems();
    void chooseFiles();
    void reanalyse();
    void forgetOpening();
    void showAnalysis(const AnalysisPtr& analysis);
    void present(const AnalysisPtr& analysis);
    void updateBusy();
    void updateHeadline();
    void updateStatus();
    void updateRecent();
    void remember(const QString& path); // among the recent files
    void chooseSaveSession();
    void chooseOpenSession();
    [[nodiscard]] SessionFile sessionNow() const; // of what is shown
    void restoreLayout(const SessionFile& session);
    void restoreSession();
    void keepMeasured();
    void keepNow(); // what waits to be kept: there is no later
    void keepWithin(int wait_ms);
    void showKept();
    void exportReport(Export kind);
    void exportTo(Export kind, const QString& path);
    void saveScreenshot();
    // A file to write; a name without a suffix gets this one. "" when the dialog is left.
    [[nodiscard]] QString askWhere(const QString& title, const QString& proposal, const QString& filter,
                                   const QString& suffix);
    [[nodiscard]] bool isInput(const QString& path) const;     // a file that is shown
    void tellWritten(const QString& path, const QString& why); // why not; "": it is
    void showShortcuts();
    void showAbout();

    struct Widgets;
    bool remember_;
    settings::ThemeChoice theme_choice_ = settings::ThemeChoice::System;
    bool system_dark_ = false;
    Session* session_;
    Loader* loader_;
    RunnerChild* runner_;
    FuseQueue* fuse_;
    Banner* banner_ = nullptr;
    GraphPanel* graph_ = nullptr;
    TimelinePanel* timeline_ = nullptr;
    RooflinePanel* roofline_ = nullptr;
    FindingsPanel* findings_ = nullptr;
    ModelPanel* model_ = nullptr;
    TablesPanel* tables_ = nullptr;
    std::unique_ptr<Widgets> w_;
    std::map<QString, std::string> bytes_of_name_;
    std::unique_ptr<SessionFile> pending_session_; // while its inputs are read
    bool reading_session_ = false;
    int openings_ = 0;     // of files and sessions: what was read for an earlier one is not wanted any more
    QString shown_device_; // the choice that the analysis was made with
    QTimer keep_soon_, keep_again_;
    OpenedFiles opened_files_;        // the inputs that are shown
    QString kept_folder_, kept_path_; // the latter of the inputs that are shown
    MeasuredFile kept_known_;         // what of that file this window has read or written
    QStringList opening_;             // for the recent files, once they proved usable
};

} // namespace fusescope
