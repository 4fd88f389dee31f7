// SPDX-License-Identifier: Apache-2.0
#include "core/trace/op_args.h"

#include <simdjson.h>

#include <string>

namespace fusescope {
namespace {

constexpr std::size_t kMaxArgs = 4096, kMaxList = 1 << 16, kMaxRank = 64;

// One parser per thread: each keeps its buffers between calls.
simdjson::dom::parser& parser() {
    thread_local simdjson::dom::parser p;
    return p;
}

bool isDims(const simdjson::dom::array& array) { // [] and [1, 2]: sizes; [[..], ..]: a list of tensors
    for (const auto element : array) return element.is_int64() || element.is_uint64();
    return true;
}

std::vector<std::int64_t> integers(const simdjson::dom::array& array) {
    std::vector<std::int64_t> out;
    for (const auto element : array) {
        std::int64_t n = 0;
        if (element.get(n) != simdjson::SUCCESS || out.size() >= kMaxRank) break;
        out.push_back(n);
    }
    return out;
}

using simdjson::dom::array;
using simdjson::dom::element;

template <class Visit> void forEach(std::string_view text, Visit visit) {
    if (text.empty()) return;
    const simdjson::padded_string padded(text);
    array root;
    if (parser().parse(padded).get(root) != simdjson::SUCCESS) return;
    std::size_t i = 0;
    for (const element item : root) {
        if (i >= kMaxArgs) return;
        visit(i++, item);
    }
}

ArgKind kindOf(std::string_view type) {
    if (type.empty()) return ArgKind::None;
    if (type == "Scalar") return ArgKind::Scalar;
    if (type == "ScalarList") return ArgKind::ScalarList;
    if (type == "TensorList" || type == "GenericList") return ArgKind::TensorList;
    return dtypeFromTraceName(type) == DType::Unknown ? ArgKind::Text : ArgKind::Tensor;
}

} // namespace

std::vector<OpArg> parseOpArgs(const TraceStore& store, CpuOpId op) {
    std::vector<OpArg> args;
    if (op.index() >= store.cpu_ops.size()) return args;
    const auto text = [&](StringId id) { return store.strings.view(id); };
    const std::size_t row = op.index();
    const auto at = [&](std::size_t i) -> OpArg& {
        if (args.size() <= i) args.resize(i + 1);
        return args[i];
    };
    forEach(text(store.cpu_ops.types[row]), [&](std::size_t i, const element& item) {
        std::string_view type;
        if (item.get(type) != simdjson::SUCCESS) return;
        at(i).kind = kindOf(type);
        at(i).tensor.dtype = dtypeFromTraceName(type);
    });
    forEach(text(store.cpu_ops.dims[row]), [&](std::size_t i, const element& item) {
        array dims;
        if (item.get(dims) != simdjson::SUCCESS) return;
        OpArg& arg = at(i);
        if (arg.kind == ArgKind::TensorList || !isDims(dims)) {
            arg.kind = ArgKind::TensorList;
            for (const element tensor : dims) {
                array sizes;
                if (tensor.get(sizes) != simdjson::SUCCESS || arg.list.size() >= kMaxList) break;
                arg.list.emplace_back().sizes = integers(sizes);
            }
            arg.truncated = arg.list.empty(); // lists of 30 and more are recorded as []
        } else {
            arg.tensor.sizes = integers(dims);
        }
    });
    forEach(text(store.cpu_ops.strides[row]), [&](std::size_t i, const element& item) {
        array strides;
        if (item.get(strides) != simdjson::SUCCESS || i >= args.size()) return;
        if (args[i].kind == ArgKind::TensorList) {
            std::size_t t = 0;
            for (const element tensor : strides) {
                array sizes;
                if (t >= args[i].list.size() || tensor.get(sizes) != simdjson::SUCCESS) break;
                args[i].list[t++].strides = integers(sizes);
            }
        } else {
            args[i].tensor.strides = integers(strides);
        }
    });
    for (OpArg& arg : args) { // sizes that no memory holds are damage: no cost may be computed from them
        if (!arg.tensor.plausible()) arg.tensor.forgetSizes();
        for (TensorMeta& tensor : arg.list)
            if (!tensor.plausible()) tensor.forgetSizes();
    }
    // Views of the pool's text: the quoted JSON strings are short and without escapes, so they can be cut out in place.
    std::string_view raw = text(store.cpu_ops.concrete[row]);
    for (std::size_t i = 0; i < args.size();) {
        const std::size_t open = raw.find('"');
        if (open == std::string_view::npos) break;
        std::size_t close = open + 1;
        while (close < raw.size() && raw[close] != '"') close += raw[close] == '\\' ? 2 : 1;
        if (close >= raw.size()) break;
        if (args[i].kind != ArgKind::Tensor) args[i].text = raw.substr(open + 1, close - open - 1);
        ++i;
        raw.remove_prefix(close + 1);
    }
    return args;
}

} // namespace fusescope
