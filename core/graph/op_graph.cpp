// SPDX-License-Identifier: Apache-2.0
#include "core/graph/op_graph.h"

namespace fusescope {
namespace {

struct StackFrame {
    std::string_view file, line, code;
};

// The innermost frame of a Python traceback: the last `File "x.py", line 63, in forward`, and the code line below it.
StackFrame innermostFrame(std::string_view stack) {
    StackFrame frame;
    const std::size_t start = stack.rfind("File \"");
    if (start == std::string_view::npos) return frame;
    stack.remove_prefix(start + 6);
    const std::size_t quote = stack.find('"');
    if (quote == std::string_view::npos) return frame;
    frame.file = stack.substr(0, quote);
    const std::size_t eol = stack.find('\n', quote);
    const std::string_view head = stack.substr(quote, eol == std::string_view::npos ? eol : eol - quote);
    if (const std::size_t at = head.find("line "); at != std::string_view::npos) {
        std::size_t end = at + 5;
        while (end < head.size() && head[end] >= '0' && head[end] <= '9') ++end;
        frame.line = head.substr(at + 5, end - at - 5);
    }
    if (eol != std::string_view::npos) {
        std::string_view code = stack.substr(eol + 1);
        code = code.substr(0, code.find('\n'));
        const std::size_t first = code.find_first_not_of(" \t");
        frame.code = first == std::string_view::npos ? std::string_view{} : code.substr(first);
        const std::size_t last = frame.code.find_last_not_of(" \t\r");
        frame.code = frame.code.substr(0, last == std::string_view::npos ? 0 : last + 1);
    }
    return frame;
}

} // namespace

const Node OpGraph::kNoNode{};
const Value OpGraph::kNoValue{};

std::span<const GraphArg> OpGraph::argsOf(NodeId id) const {
    const Node& node = at(id);
    return {args.data() + node.first_arg, node.args};
}

std::span<const ValueId> OpGraph::valuesOf(const GraphArg& arg) const {
    return {arg_values.data() + arg.first_value, arg.values};
}

std::span<const NodeId> OpGraph::consumersOf(ValueId id) const {
    if (!id.valid() || id.index() + 1 >= consumer_start.size()) return {};
    const std::uint32_t first = consumer_start[id.index()];
    return {consumers.data() + first, consumer_start[id.index() + 1] - first};
}

ValueId OpGraph::output(NodeId id, std::size_t i) const {
    const Node& node = at(id);
    return i < node.outputs ? ValueId(node.first_output + i) : ValueId{};
}

ValueId OpGraph::operand(NodeId id, std::size_t i) const {
    for (const GraphArg& arg : argsOf(id)) {
        if (arg.kind != ArgKind::Tensor && arg.kind != ArgKind::TensorList)
            continue; // sizes given as symbols: no operands
        if (i < arg.values) return valuesOf(arg)[i];
        i -= arg.values;
    }
    return {};
}

std::string_view OpGraph::argText(NodeId id, std::string_view arg_name) const {
    for (const GraphArg& arg : argsOf(id))
        if (strings.view(arg.name) == arg_name) return strings.view(arg.text);
    return {};
}

std::string OpGraph::sourceLine(NodeId id) const {
    const StackFrame frame = innermostFrame(strings.view(at(id).stack));
    if (frame.file.empty()) return {};
    std::string text(frame.file.substr(frame.file.find_last_of("/\\") + 1));
    if (!frame.line.empty()) text.append(":").append(frame.line);
    return text;
}

std::string OpGraph::sourceText(NodeId id) const {
    return std::string(innermostFrame(strings.view(at(id).stack)).code);
}

} // namespace fusescope
