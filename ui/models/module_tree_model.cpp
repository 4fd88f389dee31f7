// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/module_tree_model.h"

#include "core/base/format.h"
#include "core/draw/names.h"
#include "ui/base/paint.h"
#include "ui/base/tip.h"

#include <QStringList>

#include <algorithm>
#include <utility>

namespace fusescope {
namespace {

double timeOf(const ModuleStats& s) { return s.forward_ns + s.backward_ns; }

QString dash() { return QStringLiteral("–"); }

// "412 G", the unit stands in the header: as in the graph, and no "B" that could be bytes.
QString flopsOf(double flops) { return text(formatFlops(flops)).remove(QLatin1String("FLOP")).trimmed(); }

} // namespace

ModuleTreeModel::ModuleTreeModel(QObject* parent) : QAbstractItemModel(parent) {}

void ModuleTreeModel::setAnalysis(AnalysisPtr analysis) {
    beginResetModel();
    analysis_ = std::move(analysis);
    rows_.clear();
    row_of_.clear();
    timed_ = priced_ = false;
    if (analysis_ && !analysis_->link.modules.modules.empty()) {
        row_of_.assign(analysis_->link.modules.modules.size(), -1);
        add({ModuleId(std::size_t{0})}, -1);
        // Rows are added behind the one that is looked at: breadth first, without recursion.
        for (std::size_t at = 0; at < rows_.size(); ++at) {
            const std::vector<ModuleId> members = rows_[at].members;
            const ModuleTree& tree = analysis_->link.modules;
            const std::vector<ModuleId>& children = tree.at(members.front()).children;
            for (std::size_t c = 0; c < children.size(); ++c) {
                const Module& child = tree.at(children[c]);
                // Of a fold only the first member gets a row; the others are its members by then.
                const bool folded = child.fold_group < tree.folds.size();
                if (row_of_[children[c].index()] >= 0) continue;
                std::vector<ModuleId> all;
                for (const ModuleId member : members) {
                    const std::vector<ModuleId>& twins = tree.at(member).children;
                    if (c >= twins.size()) continue;
                    const Module& twin = tree.at(twins[c]);
                    if (folded && twin.fold_group < tree.folds.size()) {
                        const auto& group = tree.folds[twin.fold_group].members;
                        all.insert(all.end(), group.begin(), group.end());
                    } else {
                        all.push_back(twins[c]);
                    }
                }
                if (all.empty()) all.push_back(children[c]);
                add(std::move(all), static_cast<int>(at));
            }
        }
        const ModuleStats& root = rows_.front().sum;
        timed_ = analysis_->trace != nullptr && timeOf(root) > 0;
        priced_ = root.flops > 0;
    }
    endResetModel();
}

void ModuleTreeModel::add(std::vector<ModuleId> members, int parent) {
    Row row;
    row.parent = parent;
    const int number = static_cast<int>(rows_.size());
    for (const ModuleId member : members) {
        if (member.index() >= row_of_.size()) continue;
        row_of_[member.index()] = number;
        if (member.index() >= analysis_->modules.size()) continue;
        const ModuleStats& one = analysis_->modules[member.index()];
        row.sum.parameters += one.parameters;
        row.sum.flops += one.flops;
        row.sum.forward_ns += one.forward_ns;
        row.sum.backward_ns += one.backward_ns;
        row.sum.share += one.share;
    }
    row.members = std::move(members);
    if (parent >= 0) {
        auto& up = rows_[static_cast<std::size_t>(parent)];
        row.position = static_cast<int>(up.children.size());
        row.depth = up.depth + 1;
        up.children.push_back(number);
    }
    rows_.push_back(std::move(row));
}

QModelIndex ModuleTreeModel::indexOfRow(int row, int column) const {
    if (row < 0 || row >= static_cast<int>(rows_.size())) return {};
    return createIndex(rows_[static_cast<std::size_t>(row)].position, column, static_cast<quintptr>(row));
}

QModelIndex ModuleTreeModel::indexOf(ModuleId module) const {
    return module.index() < row_of_.size() ? indexOfRow(row_of_[module.index()]) : QModelIndex();
}

QModelIndex ModuleTreeModel::commonRow(const std::vector<ModuleId>& modules) const {
    int common = -1;
    for (const ModuleId module : modules) {
        int row = module.index() < row_of_.size() ? row_of_[module.index()] : -1;
        if (row < 0) continue;
        if (common < 0) common = row;
        while (row != common) { // the deeper one climbs
            auto& deeper = rows_[static_cast<std::size_t>(row)].depth >= rows_[static_cast<std::size_t>(common)].depth
                               ? row
                               : common;
            deeper = rows_[static_cast<std::size_t>(deeper)].parent;
        }
    }
    return indexOfRow(common);
}

ModuleId ModuleTreeModel::moduleAt(const QModelIndex& index) const {
    return index.isValid() && index.internalId() < rows_.size() ? rows_[index.internalId()].members.front()
                                                                : ModuleId();
}

int ModuleTreeModel::copiesAt(const QModelIndex& index) const {
    return index.isValid() && index.internalId() < rows_.size()
               ? static_cast<int>(rows_[index.internalId()].members.size())
               : 0;
}

QModelIndex ModuleTreeModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent)) return {};
    if (!parent.isValid()) return createIndex(0, column, quintptr{0});
    return indexOfRow(rows_[parent.internalId()].children[static_cast<std::size_t>(row)], column);
}

QModelIndex ModuleTreeModel::parent(const QModelIndex& child) const {
    return child.isValid() && child.internalId() < rows_.size() ? indexOfRow(rows_[child.internalId()].parent)
                                                                : QModelIndex();
}

int ModuleTreeModel::rowCount(const QModelIndex& parent) const {
    if (parent.column() > 0) return 0;
    if (!parent.isValid()) return rows_.empty() ? 0 : 1;
    return parent.internalId() < rows_.size() ? static_cast<int>(rows_[parent.internalId()].children.size()) : 0;
}

int ModuleTreeModel::columnCount(const QModelIndex&) const { return ColumnCount; }

QString ModuleTreeModel::name(const Row& row) const {
    // The copies stand where they fork off, not on every row below.
    const std::size_t above = row.parent < 0 ? 1 : rows_[static_cast<std::size_t>(row.parent)].members.size();
    return text(displayModuleName(analysis_->link.modules, row.members.front(), row.members.size() > above));
}

QString ModuleTreeModel::tip(const Row& row, int column) const {
    const Module& module = analysis_->link.modules.at(row.members.front());
    QStringList lines;
    const auto each = [&](const QString& what) {
        if (row.members.size() > 1)
            lines.append(tr("%1 over %2 copies").arg(what).arg(row.members.size()));
        else
            lines.append(what);
    };
    const auto exact = [](double v) { return text(formatCount(static_cast<std::int64_t>(v))); };
    switch (column) {
    case ParametersColumn: each(tr("%1 parameters").arg(text(formatCount(row.sum.parameters)))); break;
    case FlopsColumn: each(tr("%1 FLOP forward").arg(exact(row.sum.flops))); break;
    case TimeColumn:
    case ShareColumn:
        if (!timed_) return tr("Open a trace to see measured times");
        each(tr("forward %1 ns + backward %2 ns").arg(exact(row.sum.forward_ns), exact(row.sum.backward_ns)));
        lines.append(tr("%1 of the step's kernel time").arg(text(formatPercent(row.sum.share))));
        break;
    default:
        lines.append(module.path.empty() ? tr("the whole model") : text(module.path));
        if (!module.type.empty()) lines.append(text(module.type_fqn.empty() ? module.type : module.type_fqn));
        if (row.members.size() > 1) lines.append(tr("%1 identical copies, shown once").arg(row.members.size()));
        if (row.members.front().index() < analysis_->modules.size()) {
            const std::string& shape = analysis_->modules[row.members.front().index()].output_shape;
            if (!shape.empty()) lines.append(tr("output %1").arg(text(shape)));
        }
    }
    return lines.join(QLatin1Char('\n'));
}

QVariant ModuleTreeModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.internalId() >= rows_.size()) return {};
    const Row& row = rows_[index.internalId()];
    const Module& module = analysis_->link.modules.at(row.members.front());
    switch (role) {
    case Qt::DisplayRole:
        switch (index.column()) {
        case ModuleColumn: return name(row);
        case ParametersColumn:
            return row.sum.parameters > 0 ? text(formatCountShort(static_cast<double>(row.sum.parameters))) : dash();
        case FlopsColumn: return row.sum.flops > 0 ? flopsOf(row.sum.flops) : dash();
        case TimeColumn: return timeOf(row.sum) > 0 ? text(formatDuration(timeOf(row.sum))) : dash();
        case ShareColumn: return timed_ && row.sum.share > 0 ? text(shareText(row.sum.share)) : dash();
        default: return {};
        }
    case SortRole:
        switch (index.column()) {
        case ModuleColumn: return module.declared;
        case ParametersColumn: return static_cast<qlonglong>(row.sum.parameters);
        case FlopsColumn: return row.sum.flops;
        case TimeColumn: return timeOf(row.sum);
        case ShareColumn: return row.sum.share;
        default: return {};
        }
    case Qt::ToolTipRole: return plainTip(tip(row, index.column()));
    case Qt::TextAlignmentRole:
        return static_cast<int>((index.column() == ModuleColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case PickIdRole: return row.members.front().value;
    case ShareRole: return index.column() == ShareColumn ? QVariant(row.sum.share) : QVariant();
    case NoteRole: return index.column() == ModuleColumn && row.parent >= 0 ? text(module.type) : QString();
    case FilterRole: return QString(text(module.path) + QLatin1Char(' ') + text(module.type));
    default: return {};
    }
}

QVariant ModuleTreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole)
        return static_cast<int>((section == ModuleColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole) {
        switch (section) {
        case ParametersColumn: return tr("Parameters of the module and all below it; shared ones counted once");
        case FlopsColumn: return tr("Floating-point operations of one forward pass");
        case TimeColumn: return tr("Measured kernel time in the analysed step, forward + backward");
        case ShareColumn:
            return tr(
                "Share of the step's kernel time, forward + backward. Findings name shares of the step's wall time.");
        default: return {};
        }
    }
    if (role != Qt::DisplayRole) return {};
    switch (section) {
    case ModuleColumn: return tr("Module");
    case ParametersColumn: return tr("Params");
    case FlopsColumn: return tr("FLOP");
    case TimeColumn: return tr("Time");
    case ShareColumn: return tr("Kernel %");
    default: return {};
    }
}

} // namespace fusescope
