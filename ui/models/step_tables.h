// SPDX-License-Identifier: GPL-3.0-or-later
// The kernel table and the operator table of the analysed step.
#pragma once

#include "core/analysis/analysis.h"
#include "ui/models/roles.h"

#include <QAbstractTableModel>

namespace fusescope {

class StepTableModel : public QAbstractTableModel { // what both share
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;
    void setAnalysis(AnalysisPtr analysis);
    void setTheme(Theme theme);
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

protected:
    struct Head {
        QString title, tip;
        bool number = true;
    };
    [[nodiscard]] virtual int columns() const = 0;
    [[nodiscard]] virtual Head head(int column) const = 0;
    [[nodiscard]] virtual QString cell(int row, int column) const = 0;
    [[nodiscard]] virtual QVariant sortKey(int row, int column) const = 0;
    [[nodiscard]] virtual QString tip(int row, int column) const = 0;
    [[nodiscard]] virtual OpKind kind(int row) const = 0;
    [[nodiscard]] virtual double share(int row) const = 0;
    [[nodiscard]] virtual quint32 pickId(int row) const = 0;
    [[nodiscard]] virtual int kindColumn() const = 0;
    [[nodiscard]] virtual int shareColumn() const = 0;

    AnalysisPtr analysis_;
    Theme theme_ = Theme::Light;
    double total_ns_ = 0; // kernel time of the step: what shares are of
};

class KernelTableModel : public StepTableModel {
    Q_OBJECT
public:
    enum Column {
        NameColumn,
        KindColumn,
        CallsColumn,
        TotalColumn,
        AverageColumn,
        MinColumn,
        MaxColumn,
        ShareColumn,
        LaunchColumn,
        ColumnCount
    };
    using StepTableModel::StepTableModel;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] KernelId longestKernel(int row) const; // what a click on the row shows

protected:
    [[nodiscard]] int columns() const override { return ColumnCount; }
    [[nodiscard]] Head head(int column) const override;
    [[nodiscard]] QString cell(int row, int column) const override;
    [[nodiscard]] QVariant sortKey(int row, int column) const override;
    [[nodiscard]] QString tip(int row, int column) const override;
    [[nodiscard]] OpKind kind(int row) const override;
    [[nodiscard]] double share(int row) const override;
    [[nodiscard]] quint32 pickId(int row) const override;
    [[nodiscard]] int kindColumn() const override { return KindColumn; }
    [[nodiscard]] int shareColumn() const override { return ShareColumn; }
};

class OpTableModel : public StepTableModel {
    Q_OBJECT
public:
    enum Column {
        OpColumn,
        KindColumn,
        DirectionColumn,
        ModuleTypeColumn,
        CallsColumn,
        TotalColumn,
        AverageColumn,
        ShareColumn,
        IntensityColumn,
        FlopRateColumn,
        BandwidthColumn,
        BoundColumn,
        CoverageColumn,
        ColumnCount
    };
    using StepTableModel::StepTableModel;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;

protected:
    [[nodiscard]] int columns() const override { return ColumnCount; }
    [[nodiscard]] Head head(int column) const override;
    [[nodiscard]] QString cell(int row, int column) const override;
    [[nodiscard]] QVariant sortKey(int row, int column) const override;
    [[nodiscard]] QString tip(int row, int column) const override;
    [[nodiscard]] OpKind kind(int row) const override;
    [[nodiscard]] double share(int row) const override;
    [[nodiscard]] quint32 pickId(int row) const override;
    [[nodiscard]] int kindColumn() const override { return KindColumn; }
    [[nodiscard]] int shareColumn() const override { return ShareColumn; }
};

} // namespace fusescope
