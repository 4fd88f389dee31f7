// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/session_file.h"

#include "core/base/input_file.h"
#include "core/measured/measured_json.h"
#include "ui/base/paint.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSet>

namespace fusescope {
namespace {

constexpr auto kSchema = "fusescope.session/1";
constexpr qsizetype kMostInputs = 64;
constexpr std::size_t kPiece = std::size_t{1} << 20; // of a file, between two looks at the wish to end

QString name(const char* key) { return QLatin1String(key); }

template <class Write> QJsonArray arrayOf(Write&& write) {
    JsonWriter json;
    write(json);
    return QJsonDocument::fromJson(QByteArray::fromStdString(json.text())).array();
}

} // namespace

Result<QByteArray> sessionJson(const SessionFile& session) {
    QJsonObject root;
    root[name("schema")] = name(kSchema);
    QJsonArray inputs;
    for (const SessionInput& input : session.inputs)
        inputs.append(QJsonObject{{name("path"), input.path}, {name("sha256"), QString::fromLatin1(input.sha256)}});
    root[name("inputs")] = inputs;
    root[name("device")] = session.device;
    root[name("step")] = session.step;
    root[name("selection")] = session.selection;
    if (const auto [begin, end] = session.marked; begin < end) // as text: JSON numbers do not hold 64 bits
        root[name("marked_range_ns")] = QJsonArray{QString::number(begin), QString::number(end)};
    root[name("window_state")] = QString::fromLatin1(session.window_state.toBase64());
    if (!session.window_size.isEmpty()) {
        root[name("window_size")] = QJsonArray{session.window_size.width(), session.window_size.height()};
        QJsonObject docks;
        for (auto at = session.dock_sizes.begin(); at != session.dock_sizes.end(); ++at) docks[at.key()] = at.value();
        root[name("dock_sizes")] = docks;
    }
    root[name("measured")] = arrayOf([&](JsonWriter& json) { writeMeasured(json, session.measured); });
    root[name("regions")] = arrayOf([&](JsonWriter& json) { writeChosenRegions(json, session.regions); });
    QByteArray json = QJsonDocument(root).toJson();
    if (const Result<SessionFile> again = sessionFromJson(json, QStringLiteral("what is to be saved")); !again)
        return again.error();
    return json;
}

Result<SessionFile> sessionFromJson(const QByteArray& json, const QString& where) {
    const auto wrong = [&](const char* found) {
        return Error{ErrorCode::WrongFormat, "a FuseScope session", found, where.toStdString()};
    };
    if (static_cast<std::size_t>(json.size()) > kMostFileBytes) return wrong("a file of more than 64 MB");
    QJsonParseError problem;
    const QJsonDocument document = QJsonDocument::fromJson(json, &problem);
    if (!document.isObject()) return wrong("no JSON object");
    const QJsonObject root = document.object();
    if (root[name("schema")].toString() != name(kSchema)) return wrong("another kind or version of file");
    SessionFile session;
    const QJsonArray inputs = root[name("inputs")].toArray();
    if (inputs.isEmpty()) return wrong("no inputs in it");
    if (inputs.size() > kMostInputs) return wrong("more entries than make sense");
    for (const QJsonValue& value : inputs) {
        const QJsonObject o = value.toObject();
        session.inputs.append({o[name("path")].toString(), o[name("sha256")].toString().toLatin1()});
        if (session.inputs.back().path.isEmpty()) return wrong("an input without a path");
    }
    session.device = root[name("device")].toString();
    session.step = root[name("step")].toString(session.step);
    session.selection = root[name("selection")].toString();
    bool from = false, to = false;
    const QJsonArray marked = root[name("marked_range_ns")].toArray();
    const qlonglong begin = marked.at(0).toString().toLongLong(&from), end = marked.at(1).toString().toLongLong(&to);
    if (from && to && begin < end) session.marked = {begin, end};
    session.window_state = QByteArray::fromBase64(root[name("window_state")].toString().toLatin1());
    const QJsonArray size = root[name("window_size")].toArray();
    session.window_size = {size.at(0).toInt(), size.at(1).toInt()};
    const QJsonObject docks = root[name("dock_sizes")].toObject();
    for (auto at = docks.begin(); at != docks.end(); ++at)
        if (const int pixels = at.value().toInt(); pixels > 0) session.dock_sizes[at.key()] = pixels;
    Result<MeasuredFile> measured =
        readMeasured({json.constData(), static_cast<std::size_t>(json.size())}, where.toStdString());
    if (!measured) return std::move(measured).error();
    session.measured = std::move(measured->set);
    session.regions = std::move(measured->regions);
    return session;
}

Result<SessionFile> readSessionFile(const QString& path) {
    constexpr auto kExpected = "a FuseScope session";
    const Result<InputFile> file = InputFile::open(QFile::encodeName(path).toStdString(), kExpected);
    if (!file) return file.error();
    if (file->size() > kMostFileBytes)
        return Error{ErrorCode::WrongFormat, kExpected, "a file of more than 64 MB", path.toStdString()};
    QByteArray json(static_cast<qsizetype>(file->size()), '\0');
    json.truncate(static_cast<qsizetype>(file->readAt(0, {json.data(), static_cast<std::size_t>(json.size())})));
    return sessionFromJson(json, path);
}

QByteArray sha256Of(const QString& path, const Progress& end) {
    const Result<InputFile> file = InputFile::open(QFile::encodeName(path).toStdString(), "an input of a session");
    if (!file) return {};
    QCryptographicHash hash(QCryptographicHash::Sha256);
    std::vector<char> piece(kPiece);
    for (std::uint64_t at = 0; !end.cancelled();) {
        const std::size_t got = file->readAt(at, piece);
        hash.addData(QByteArrayView(piece.data(), static_cast<qsizetype>(got)));
        at += got;
        if (got < piece.size()) return hash.result().toHex();
    }
    return {};
}

// Not QFileInfo's ==: it takes any two files that do not exist for the same.
bool sameFile(const QString& one, const QString& other) {
    const QFileInfo a(one), b(other);
    if (a.exists() && b.exists()) return a.canonicalFilePath() == b.canonicalFilePath();
    return !a.exists() && !b.exists() && QDir::cleanPath(a.absoluteFilePath()) == QDir::cleanPath(b.absoluteFilePath());
}

QString foundInput(const SessionInput& input, const QString& session_path) {
    if (QFileInfo(input.path).isFile()) return input.path;
    const QFileInfo beside(QFileInfo(session_path).absoluteDir(), QFileInfo(input.path).fileName());
    return beside.isFile() ? beside.absoluteFilePath() : QString();
}

Pick pickOf(const Analysis& a, const QString& what) {
    const QString kind = what.section(QLatin1Char(':'), 0, 0), rest = what.section(QLatin1Char(':'), 1);
    if (kind == QLatin1String("finding"))
        for (std::size_t f = 0; f < a.findings.size(); ++f)
            if (a.findings[f].id == rest.toStdString()) return {PickKind::Finding, static_cast<std::uint32_t>(f)};
    if (kind == QLatin1String("module"))
        if (const ModuleId module = a.link.modules.find(rest.toStdString()); module.valid())
            return {PickKind::Module, module.value};
    if (const std::vector<NodeId> nodes = nodesOf(a, what); nodes.size() == 1)
        return {PickKind::Node, nodes.front().value};
    if (kind == QLatin1String("instance")) {
        bool number = false;
        const uint instance = rest.section(QLatin1Char('#'), 1).toUInt(&number);
        const Pick finding = pickOf(a, QLatin1String("finding:") + rest.section(QLatin1Char('#'), 0, 0));
        if (number && finding.kind == PickKind::Finding && instance < a.findings[finding.id].instances.size())
            return {PickKind::Instance, finding.id << 16U | instance};
    }
    bool number = false;
    const uint row = rest.toUInt(&number);
    if (!number || !a.trace) return {};
    if (kind == QLatin1String("kernel") && row < a.trace->kernels.size()) return {PickKind::Kernel, row};
    if (kind == QLatin1String("op") && row < a.ops.size()) return {PickKind::Op, row};
    if (kind == QLatin1String("slice") && row < a.trace->slices.size()) return {PickKind::Slice, row};
    return {};
}

std::vector<NodeId> nodesOf(const Analysis& analysis, const QString& text) {
    std::vector<NodeId> nodes;
    if (!analysis.graph || !text.startsWith(QLatin1String("nodes:"))) return nodes;
    const QStringList listed = text.mid(6).split(QLatin1Char(','));
    const QSet<QString> names(listed.begin(), listed.end());
    QSet<QString> missing = names;
    for (std::size_t n = 0; n < analysis.graph->ops.nodes.size(); ++n) {
        const QString name = fusescope::text(analysis.graph->ops.name(NodeId(n)));
        if (!names.contains(name)) continue;
        nodes.emplace_back(n);
        missing.remove(name);
    }
    return missing.isEmpty() ? nodes : std::vector<NodeId>(); // some of them would be another region
}

QString pickText(const Analysis& a, const SelectionSets& selection) {
    const Pick pick = selection.pick;
    switch (pick.kind) {
    case PickKind::Finding:
        return pick.id < a.findings.size() ? QLatin1String("finding:") + text(a.findings[pick.id].id) : QString();
    case PickKind::Module:
        return pick.id < a.link.modules.modules.size()
                   ? QLatin1String("module:") + text(a.link.modules.at(ModuleId(pick.id)).path)
                   : QString();
    case PickKind::Instance: {
        const std::uint32_t finding = pick.id >> 16U;
        if (finding >= a.findings.size()) return {};
        return QStringLiteral("instance:%1#%2").arg(text(a.findings[finding].id)).arg(pick.id & 0xFFFFU);
    }
    case PickKind::Kernel: return QStringLiteral("kernel:%1").arg(pick.id);
    case PickKind::Op: return QStringLiteral("op:%1").arg(pick.id);
    case PickKind::Slice: return QStringLiteral("slice:%1").arg(pick.id);
    case PickKind::Node:
    case PickKind::Nodes: {
        if (!a.graph) return {};
        QStringList names;
        for (const NodeId node : pick.kind == PickKind::Node ? std::vector{NodeId(pick.id)} : selection.nodes)
            names << text(a.graph->ops.name(node));
        return QLatin1String("nodes:") + names.join(QLatin1Char(','));
    }
    case PickKind::None:
    case PickKind::Region: break;
    }
    return {};
}

} // namespace fusescope
