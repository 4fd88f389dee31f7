// SPDX-License-Identifier: GPL-3.0-or-later
// What stands in the middle before anything is open.
#pragma once

#include <QStringList>
#include <QWidget>

class QPushButton;
class QVBoxLayout;

namespace fusescope {

class Welcome : public QWidget {
    Q_OBJECT
public:
    explicit Welcome(QWidget* parent = nullptr);
    void setRecent(const QStringList& files);
    void setSampleAvailable(bool available);

Q_SIGNALS:
    void openRequested();
    void sampleRequested();
    void fileRequested(const QString& path);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    static void elide(QPushButton& link);
    QVBoxLayout* recent_;
    QWidget* sample_;
};

} // namespace fusescope
