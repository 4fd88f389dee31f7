// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/layout_protocol.h"

#include "core/base/json_writer.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace fusescope {
namespace {

using Json = simdjson::dom::element;
using JsonArray = simdjson::dom::array;

constexpr std::size_t kMaxBoxes = 2000, kMaxEdges = 20000, kMaxPoints = 2000;
constexpr std::size_t kMaxLine = std::size_t{64} << 20;
constexpr double kMaxPixels = 1e7;

Error bad(std::string expected, std::string found) {
    return {ErrorCode::Damaged, std::move(expected), std::move(found), "layout protocol"};
}

std::optional<double> numberOf(Json json) {
    double number = 0;
    if (json.get(number) != simdjson::SUCCESS || !std::isfinite(number) || std::fabs(number) > kMaxPixels)
        return std::nullopt;
    return number;
}

std::optional<JsonArray> arrayOf(Json json, const char* key) {
    JsonArray array;
    if (!json.is_object() || json.at_key(key).get(array) != simdjson::SUCCESS) return std::nullopt;
    return array;
}

// The numbers of [n, n, ...], exactly `count` of them.
template <std::size_t count> std::optional<std::array<double, count>> numbersOf(Json json) {
    JsonArray array;
    if (json.get(array) != simdjson::SUCCESS || array.size() != count) return std::nullopt;
    std::array<double, count> numbers{};
    std::size_t i = 0;
    for (const Json item : array) {
        const auto number = numberOf(item);
        if (!number) return std::nullopt;
        numbers[i++] = *number;
    }
    return numbers;
}

// A whole number in [least, end).
bool indexIn(double number, double least, std::size_t end) {
    return number == std::floor(number) && number >= least && number < static_cast<double>(end);
}

Result<Json> parse(simdjson::dom::parser& parser, std::string_view line) {
    if (line.empty()) return bad("one line of JSON", "nothing");
    if (line.size() > kMaxLine)
        return Error{ErrorCode::Limit, "a line of at most 64 MiB", "a longer one", "layout protocol"};
    Json root;
    if (const auto error = parser.parse(line.data(), line.size(), true).get(root))
        return bad("one line of JSON", std::string("damaged JSON (") + simdjson::error_message(error) + ")");
    if (!root.is_object()) return bad("a JSON object", "another JSON value");
    return root;
}

double member(Json json, const char* key, double otherwise) {
    Json value;
    if (json.at_key(key).get(value) != simdjson::SUCCESS) return otherwise;
    const auto number = numberOf(value);
    return number && *number >= 0 ? *number : otherwise;
}

void write(JsonWriter& json, const LayoutRect& r) {
    json.beginArray().value(r.x).value(r.y).value(r.width).value(r.height).endArray();
}

} // namespace

std::string encodeLayoutRequest(const LayoutRequest& request) {
    JsonWriter json;
    json.beginObject().key("boxes").beginArray();
    for (const LayoutBox& box : request.boxes)
        json.beginArray().value(box.width).value(box.height).value(box.cluster).endArray();
    json.endArray().key("cluster_parents").beginArray();
    for (const std::int32_t parent : request.cluster_parents) json.value(parent);
    json.endArray().key("cluster_widths").beginArray();
    for (const double width : request.cluster_widths) json.value(width);
    json.endArray().key("edges").beginArray();
    for (const LayoutRequest::Edge& edge : request.edges)
        json.beginArray().value(edge.from).value(edge.to).value(edge.label_width).value(edge.label_height).endArray();
    json.endArray();
    json.member("node_gap", request.node_gap).member("rank_gap", request.rank_gap);
    json.member("cluster_margin", request.cluster_margin).member("cluster_header", request.cluster_header).endObject();
    return std::move(json).take() + "\n";
}

Result<LayoutRequest> decodeLayoutRequest(std::string_view line) {
    simdjson::dom::parser parser;
    const Result<Json> root = parse(parser, line);
    if (!root) return root.error();
    LayoutRequest request;
    const auto boxes = arrayOf(*root, "boxes"), parents = arrayOf(*root, "cluster_parents"),
               edges = arrayOf(*root, "edges");
    if (!boxes || !parents || !edges) return bad("boxes, cluster_parents and edges", "not all of them");
    if (boxes->size() > kMaxBoxes || parents->size() > kMaxBoxes || edges->size() > kMaxEdges)
        return Error{ErrorCode::Limit, "at most 2,000 boxes and 20,000 edges", "more", "layout protocol"};
    for (const Json item : *parents) {
        const auto parent = numberOf(item);
        if (!parent || !indexIn(*parent, -1, request.cluster_parents.size()))
            return bad("a parent cluster before its children", "another number");
        request.cluster_parents.push_back(static_cast<std::int32_t>(*parent));
    }
    for (const Json item : *boxes) {
        const auto box = numbersOf<3>(item);
        if (!box || (*box)[0] < 0 || (*box)[1] < 0 || !indexIn((*box)[2], -1, parents->size()))
            return bad("a box as [width, height, cluster]", "something else");
        request.boxes.push_back({(*box)[0], (*box)[1], static_cast<std::int32_t>((*box)[2])});
    }
    if (const auto widths = arrayOf(*root, "cluster_widths"); widths && widths->size() == parents->size())
        for (const Json item : *widths) request.cluster_widths.push_back(std::max(0.0, numberOf(item).value_or(0)));
    for (const Json item : *edges) {
        const auto edge = numbersOf<4>(item);
        if (!edge || !indexIn((*edge)[0], 0, boxes->size()) || !indexIn((*edge)[1], 0, boxes->size()) ||
            (*edge)[2] < 0 || (*edge)[3] < 0)
            return bad("an edge as [from, to, label width, label height]", "something else");
        request.edges.push_back(
            {static_cast<std::uint32_t>((*edge)[0]), static_cast<std::uint32_t>((*edge)[1]), (*edge)[2], (*edge)[3]});
    }
    request.node_gap = member(*root, "node_gap", request.node_gap);
    request.rank_gap = member(*root, "rank_gap", request.rank_gap);
    request.cluster_margin = member(*root, "cluster_margin", request.cluster_margin);
    request.cluster_header = member(*root, "cluster_header", request.cluster_header);
    return request;
}

std::string encodeLayoutResult(const LayoutResult& result) {
    JsonWriter json;
    json.beginObject().member("engine", result.engine).member("width", result.width).member("height", result.height);
    json.key("boxes").beginArray();
    for (const LayoutRect& box : result.boxes) write(json, box);
    json.endArray().key("clusters").beginArray();
    for (const LayoutRect& cluster : result.clusters) write(json, cluster);
    json.endArray().key("edges").beginArray();
    for (const LayoutResult::Edge& edge : result.edges) {
        json.beginObject()
            .key("label")
            .beginArray()
            .value(edge.label.x)
            .value(edge.label.y)
            .endArray()
            .key("path")
            .beginArray();
        for (const Point& point : edge.path) json.value(point.x).value(point.y);
        json.endArray().endObject();
    }
    json.endArray().endObject();
    return std::move(json).take() + "\n";
}

Result<LayoutResult> decodeLayoutResult(std::string_view line, const LayoutRequest& request) {
    simdjson::dom::parser parser;
    const Result<Json> root = parse(parser, line);
    if (!root) return root.error();
    std::string_view text;
    if (root->at_key("error").get(text) == simdjson::SUCCESS)
        return Error{ErrorCode::Internal,
                     "a layout",
                     "an error of fusescope-layout (" + std::string(text.substr(0, 500)) + ")",
                     {}};
    LayoutResult result;
    const auto boxes = arrayOf(*root, "boxes"), clusters = arrayOf(*root, "clusters"), edges = arrayOf(*root, "edges");
    if (!boxes || !clusters || !edges) return bad("boxes, clusters and edges", "not all of them");
    if (boxes->size() != request.boxes.size() || clusters->size() != request.cluster_parents.size() ||
        edges->size() != request.edges.size())
        return bad("as many boxes, clusters and edges as asked for", "other numbers");
    const auto rects = [](const JsonArray& array, std::vector<LayoutRect>& out) {
        for (const Json item : array) {
            const auto r = numbersOf<4>(item);
            if (!r || (*r)[2] < 0 || (*r)[3] < 0) return false;
            out.push_back({(*r)[0], (*r)[1], (*r)[2], (*r)[3]});
        }
        return true;
    };
    if (!rects(*boxes, result.boxes) || !rects(*clusters, result.clusters))
        return bad("a box as [x, y, width, height]", "something else");
    for (const Json item : *edges) {
        LayoutResult::Edge edge;
        Json label;
        const auto path = arrayOf(item, "path");
        if (!path || path->size() < 4 || path->size() % 2 != 0 || path->size() > 2 * kMaxPoints)
            return bad("a path of at least two points", "something else");
        bool x_next = true;
        for (const Json number : *path) {
            const auto value = numberOf(number);
            if (!value) return bad("coordinates", "something else");
            if (x_next)
                edge.path.push_back({*value, 0});
            else
                edge.path.back().y = *value;
            x_next = !x_next;
        }
        if (item.at_key("label").get(label) == simdjson::SUCCESS)
            if (const auto at = numbersOf<2>(label)) edge.label = {(*at)[0], (*at)[1]};
        result.edges.push_back(std::move(edge));
    }
    result.width = member(*root, "width", 0);
    result.height = member(*root, "height", 0);
    if (root->at_key("engine").get(text) == simdjson::SUCCESS) result.engine = std::string(text.substr(0, 64));
    return result;
}

} // namespace fusescope
