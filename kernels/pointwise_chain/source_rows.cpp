// SPDX-License-Identifier: Apache-2.0
// The kernel of a region with row reductions, or with sums over rows: one pass over the row for each level of them, and
// one that writes.
#include "kernels/pointwise_chain/kernel_text.h"
#include "kernels/pointwise_chain/passes.h"
#include "kernels/pointwise_chain/source_sums.h"

#include <algorithm>

namespace fusescope::kernels::chain {
namespace {

class RowsWriter {
public:
    explicit RowsWriter(KernelText& text)
        : k_(text), passes_(passesOf(text.program, text.plan, text.plan.kind == Kind::rows)) {}

    void write() {
        k_.open("extern \"C\" __global__ void __launch_bounds__(" + str(k_.plan.bound) +
                (k_.plan.persistent ? ", " + str(k_.plan.perMultiprocessor) : "") + ") " + kernelName +
                "(const __grid_constant__ Arguments a)");
        k_.line("constexpr int N = width, rowsInFlight = " + str(k_.plan.rowsInFlight) + ";");
        if (k_.plan.lanes > 0) {
            k_.line("constexpr int lanes = " + str(k_.plan.lanes) + ";");
            k_.line("const int lane = int(threadIdx.x) % lanes, groups = int(blockDim.x) / lanes;");
        } else {
            k_.line("const int lane = int(threadIdx.x), lanes = int(blockDim.x), groups = 1;");
            for (size_t i = 0; i < k_.program.nodes.size(); ++i)
                if (passes_.scratch[i] == int(i))
                    k_.line(std::string("__shared__ ") + valueType(k_.program.nodes[i].dtype) + " scratch" +
                            str(int64_t(i)) + (k_.plan.persistent ? "[2][32];" : "[32];"));
        }
        if (k_.plan.persistent) {
            // Of two sets of scratch, so that a row's parts are not overwritten while a warp still reads them.
            k_.line("int phase = 0;");
            declareSums(k_);
            const Nodes ones = rowInputs(true);
            for (int i : ones) k_.line(k_.packType(size_t(i), "width") + " q" + str(i) + "[1][inFlight] = {};");
            loadRow(ones, "", true);
            copyAhead("Index(blockIdx.x) * (groups * rowsInFlight)", true);
            k_.open("for (Index block = Index(blockIdx.x) * (groups * rowsInFlight); block < Index(a.rows); "
                    "block += Index(gridDim.x) * (groups * rowsInFlight), phase ^= 1)");
        } else {
            k_.line("const Index block = Index(blockIdx.x) * (groups * rowsInFlight);");
        }
        k_.line("const Index first = block + Index(threadIdx.x) / lanes;");
        for (size_t i = 0; i < k_.plan.inputs.size(); ++i)
            if (!loadedOnce(i))
                k_.line(k_.packType(i, "width") + " q" + str(int64_t(i)) + "[rowsInFlight]" +
                        (k_.plan.inputs[i].access == Access::same ? "" : "[inFlight]") + " = {};");
        const bool looped = k_.plan.kind == Kind::looped;
        if (staged()) k_.line("awaitCopies();");
        k_.unrolled("for (int u = 0; u < rowsInFlight; ++u)");
        openRow();
        k_.open("if (live)");
        k_.outerIndices();
        for (size_t i = 0; i < k_.plan.inputs.size(); ++i)
            if (k_.plan.inputs[i].access == Access::same)
                k_.line("q" + str(int64_t(i)) + "[u] = " + k_.load(i, "1") + "(" + k_.rowStart("in", i) + ");");
        if (!looped) loadRow(rowInputs(false), "", true);
        k_.close();
        k_.close();
        copyAhead("block + Index(gridDim.x) * (groups * rowsInFlight)", false);
        k_.unrolled("for (int u = 0; u < rowsInFlight; ++u)");
        openRow();
        k_.outerIndices();
        for (int i = 0; i < k_.program.inputs; ++i)
            if (k_.nodes.perRow(i)) k_.widenInput(i, "q" + str(i) + "[u]");
        for (int node : keptNodes())
            k_.line(std::string(valueType(k_.program.nodes[size_t(node)].dtype)) + " k" + str(node) + "[inFlight][N];");
        for (int level = 0; level <= passes_.last; ++level) {
            if (level > 0) reduce(level);
            for (size_t i = size_t(k_.program.inputs); i < k_.program.nodes.size(); ++i)
                if (passes_.level[i] == level && k_.nodes.perRow(int(i)) && !k_.nodes.isReduction(int(i)))
                    k_.append(k_.nodes.statements(int(i), k_.indent()));
        }
        writeRow();
        k_.close();
        if (k_.plan.persistent) {
            k_.close();
            if (hasSums(k_.plan)) k_.line("allowNextLaunch();");
            writeSums(k_);
        }
        k_.close();
    }

private:
    using Nodes = std::vector<int>;

    void openRow() {
        k_.line("const Index row = first + Index(u) * groups;");
        k_.line("const bool live = row < Index(a.rows);");
    }

    bool staged() const {
        return std::any_of(k_.plan.inputs.begin(), k_.plan.inputs.end(), [](const TensorPlan& t) { return t.staged; });
    }

    /// Asks for the rows of a block that come next. A thread reads what it has asked for itself, so that no barrier is
    /// needed; and before it asks for more.
    void copyAhead(const std::string& block, bool declare) {
        if (!staged()) return;
        if (declare)
            for (size_t i = 0; i < k_.plan.inputs.size(); ++i)
                if (k_.plan.inputs[i].staged)
                    k_.line("__shared__ " + k_.packType(i, "width") + " stage" + str(int64_t(i)) +
                            "[rowsInFlight][inFlight][" + str(k_.plan.bound) + "];");
        k_.unrolled("for (int u = 0; u < rowsInFlight; ++u)");
        k_.line("const Index row = " + block + " + Index(threadIdx.x) / lanes + Index(u) * groups;");
        k_.line("if (row >= Index(a.rows)) continue;");
        k_.outerIndices();
        k_.unrolled("for (int k = 0; k < inFlight; ++k)");
        k_.line("const Index pack = lane + k * lanes, column = pack * width;");
        k_.line("if (pack >= Index(a.packs)) continue;");
        for (size_t i = 0; i < k_.plan.inputs.size(); ++i)
            if (k_.plan.inputs[i].staged)
                k_.line("copyAhead(&stage" + str(int64_t(i)) + "[u][k][threadIdx.x], " + k_.rowStart("in", i) +
                        " + column);");
        k_.close();
        k_.close();
    }

    bool loadedOnce(size_t input) const {
        return k_.plan.kind == Kind::rows && k_.plan.persistent && k_.plan.inputs[input].everyRow;
    }

    /// The inputs that are read by packs: `once` for all rows, or for each.
    Nodes rowInputs(bool once) const {
        Nodes inputs;
        for (size_t i = 0; i < k_.plan.inputs.size(); ++i)
            if (k_.plan.inputs[i].access != Access::same && loadedOnce(i) == once) inputs.push_back(int(i));
        return inputs;
    }

    std::string packName(int input) const {
        return "q" + str(input) + (loadedOnce(size_t(input)) ? "[0][k]" : "[u][k]");
    }

    /// Loads the packs of this thread. `known`: the row is known to be one.
    void loadRow(const Nodes& inputs, const std::string& base, bool known) {
        if (inputs.empty()) return;
        k_.unrolled("for (int k = 0; k < inFlight; ++k)");
        k_.line("const Index pack = " + base + "lane + k * lanes, column = pack * width;");
        k_.line(std::string("if (pack >= Index(a.packs)") + (known ? "" : " || !live") + ") continue;");
        for (int i : inputs)
            if (k_.plan.inputs[size_t(i)].staged)
                k_.line(packName(i) + " = stage" + str(i) + "[u][k][threadIdx.x];");
            else
                k_.line(packName(i) + " = " + k_.load(size_t(i), "width") + "(" +
                        (loadedOnce(size_t(i)) ? "a.in" + str(i) : k_.rowStart("in", size_t(i))) +
                        k_.column("in", size_t(i), k_.plan.inputs[size_t(i)]) + ");");
        k_.close();
    }

    /// What some pass leaves in registers for a later one.
    Nodes keptNodes() const {
        Nodes all;
        for (const Nodes& kept : passes_.kept) all.insert(all.end(), kept.begin(), kept.end());
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
    }

    /// A pass over the packs of the row; `use` goes on with the values of each.
    template <class Use> void walk(int pass, Use&& use) {
        const Nodes& nodes = passes_.nodes[size_t(pass)];
        const Nodes& kept = passes_.kept[size_t(pass)];
        const Nodes leave = keptNodes();
        const bool looped = k_.plan.kind == Kind::looped;
        if (looped) {
            Nodes inputs;
            for (int i : nodes)
                if (i < k_.program.inputs) inputs.push_back(i);
            k_.open("for (Index base = 0; base < Index(a.packs); base += Index(lanes) * inFlight)");
            loadRow(inputs, "base + ", false);
        }
        k_.unrolled("for (int k = 0; k < inFlight; ++k)");
        k_.line(std::string("const Index pack = ") + (looped ? "base + " : "") +
                "lane + k * lanes, column = pack * width;");
        k_.line("const bool inside = live && pack < Index(a.packs);");
        for (int i : nodes) {
            const std::string value = "v" + str(i), slot = "k" + str(i) + "[k]";
            if (std::find(kept.begin(), kept.end(), i) != kept.end()) {
                k_.line(std::string(valueType(k_.program.nodes[size_t(i)].dtype)) + " " + value + "[N];");
                copyEach(value, slot);
                continue;
            }
            if (i < k_.program.inputs)
                k_.widenInput(i, packName(i));
            else
                k_.append(k_.nodes.statements(i, k_.indent()));
            if (std::find(leave.begin(), leave.end(), i) != leave.end()) copyEach(slot, value);
        }
        use();
        k_.close();
        if (looped) k_.close();
    }

    void copyEach(const std::string& to, const std::string& from) {
        k_.unroll();
        k_.line("for (int i = 0; i < N; ++i) " + to + "[i] = " + from + "[i];");
    }

    /// The reductions of a level. Packs are summed first, then the packs of a thread, of its lanes, of the block.
    void reduce(int level) {
        Nodes reductions;
        for (size_t i = 0; i < k_.program.nodes.size(); ++i)
            if (passes_.level[i] == level && k_.nodes.isReduction(int(i))) reductions.push_back(int(i));
        if (reductions.empty()) return;
        for (int r : reductions)
            k_.line(std::string(valueType(k_.program.nodes[size_t(r)].dtype)) + " r" + str(r) + " = " + neutral(r) +
                    ";");
        walk(level, [&] {
            for (int r : reductions) {
                const Node& node = k_.program.nodes[size_t(r)];
                const std::string part = "part" + str(r), value = k_.nodes.operand(node, 0);
                k_.line(std::string(valueType(node.dtype)) + " " + part + " = " + neutral(r) + ";");
                k_.unroll();
                k_.line("for (int i = 0; i < N; ++i) " + part + " = " + combiner(r) + "::join(" + part + ", " + value +
                        ");");
                k_.line("if (inside) r" + str(r) + " = " + combiner(r) + "::join(r" + str(r) + ", " + part + ");");
            }
        });
        const auto scratch = [&](int r) {
            return "scratch" + str(passes_.scratch[size_t(r)]) + (k_.plan.persistent ? "[phase]" : "");
        };
        if (k_.plan.lanes == 0) { // one barrier for all of them
            for (int r : reductions)
                k_.line(std::string("leave<") + combiner(r) + ">(r" + str(r) + ", " + scratch(r) + ");");
            k_.line("__syncthreads();");
        }
        for (int r : reductions) {
            const Node& node = k_.program.nodes[size_t(r)];
            const std::string joined = k_.plan.lanes > 0
                                           ? std::string("joinLanes<") + combiner(r) + ", lanes>(r" + str(r) + ")"
                                           : std::string("joined<") + combiner(r) + ">(" + scratch(r) + ")";
            const std::string type = valueType(node.dtype);
            k_.line(type + " v" + str(r) + "[1];");
            k_.line("v" + str(r) +
                    "[0] = " + (node.op == Op::mean ? "mul(" + joined + ", a.factor" + str(r) + ");" : joined + ";"));
            k_.append(k_.nodes.roundingOf(r, k_.indent()));
        }
    }

    const char* combiner(int reduction) const {
        return k_.program.nodes[size_t(reduction)].op == Op::amax ? "Maximum" : "Sum";
    }

    std::string neutral(int reduction) const {
        const Node& node = k_.program.nodes[size_t(reduction)];
        if (node.op != Op::amax) return "0";
        switch (node.dtype) {
        case FS_CHAIN_I64: return "(-9223372036854775807ll - 1)";
        case FS_CHAIN_I32: return "(-2147483647 - 1)";
        case FS_CHAIN_F64: return "-__longlong_as_double(0x7ff0000000000000ll)";
        default: return "-__int_as_float(0x7f800000)";
        }
    }

    /// Whether an output has an element for each of the row's, be it the same for all of them.
    bool anyWhole() const {
        return std::any_of(k_.plan.outputs.begin(), k_.plan.outputs.end(),
                           [](const TensorPlan& t) { return t.summed || !t.perRow; });
    }

    void writeRow() {
        if (anyWhole())
            walk(passes_.last + 1, [&] {
                for (size_t i = 0; i < k_.plan.outputs.size(); ++i) {
                    if (k_.plan.outputs[i].summed) {
                        addToSum(k_, i);
                        continue;
                    }
                    if (k_.plan.outputs[i].perRow) continue;
                    k_.narrowed(k_.program.outputs[i], "const auto out" + str(int64_t(i)) + " = ");
                    k_.line("if (inside) store(" + k_.rowStart("out", i) + k_.column("out", i, k_.plan.outputs[i]) +
                            ", out" + str(int64_t(i)) + ");");
                }
            });
        for (size_t i = 0; i < k_.plan.outputs.size(); ++i) {
            if (!k_.plan.outputs[i].perRow || k_.plan.outputs[i].summed) continue;
            const std::string node = str(k_.program.outputs[i]);
            k_.line("if (live && lane == 0) store(" + k_.rowStart("out", i) + ", narrow<" +
                    elementType(k_.plan.outputs[i].dtype) + ">(v" + node + "));");
        }
    }

    KernelText& k_;
    Passes passes_;
};

} // namespace

void writeRows(KernelText& text) { RowsWriter(text).write(); }

} // namespace fusescope::kernels::chain
