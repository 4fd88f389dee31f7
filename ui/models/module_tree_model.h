// SPDX-License-Identifier: GPL-3.0-or-later
// The module tree. Identical siblings are one row, "layers.0 ×36", with the rows of the first of them below; figures of
// such rows, and of all below them, are summed over every copy, so that shares add up.
#pragma once

#include "core/analysis/analysis.h"
#include "ui/models/roles.h"

#include <QAbstractItemModel>

#include <vector>

namespace fusescope {

class ModuleTreeModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Column { ModuleColumn, ParametersColumn, FlopsColumn, TimeColumn, ShareColumn, ColumnCount };

    explicit ModuleTreeModel(QObject* parent = nullptr);
    void setAnalysis(AnalysisPtr analysis);

    // The row that stands for a module (copies share one); invalid if there is none.
    [[nodiscard]] QModelIndex indexOf(ModuleId module) const;
    // The deepest row that holds all of them.
    [[nodiscard]] QModelIndex commonRow(const std::vector<ModuleId>& modules) const;
    [[nodiscard]] ModuleId moduleAt(const QModelIndex& index) const;
    [[nodiscard]] int copiesAt(const QModelIndex& index) const;

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
    using QObject::parent;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    struct Row {
        std::vector<ModuleId> members; // the first represents them
        int parent = -1, position = 0, depth = 0;
        std::vector<int> children;
        ModuleStats sum;
    };
    void add(std::vector<ModuleId> members, int parent);
    [[nodiscard]] QModelIndex indexOfRow(int row, int column = 0) const;
    [[nodiscard]] QString name(const Row& row) const;
    [[nodiscard]] QString tip(const Row& row, int column) const;

    AnalysisPtr analysis_;
    std::vector<Row> rows_;   // parents before children; 0 is the root
    std::vector<int> row_of_; // by module, -1 = none
    bool timed_ = false, priced_ = false;
};

} // namespace fusescope
