// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/source.h"
#include "kernels/pointwise_chain/passes.h"

#include <algorithm>

namespace fusescope::kernels::chain {
namespace {

std::string str(int64_t v) { return std::to_string(v); }

/// Declares the arguments in the order in which the launch fills them in.
struct Declarations {
    std::string text;
    bool wide;

    static std::string named(const char* name, int index, int part) {
        return name + (index >= 0 ? str(index) : "") + (part >= 0 ? "_" + str(part) : "");
    }
    void pointer(const char* name, int index, Dtype dtype, bool written, void*) {
        text += std::string("    ") + (written ? "" : "const ") + elementType(dtype) + "* " + named(name, index, -1) +
                ";\n";
    }
    void number64(const std::string& name) { text += "    long long " + name + ";\n"; }
    void number(const char* name, int index, int part, int64_t) {
        number64(index < 0 ? name : part < 0 ? named(name, index, -1) + "_inner" : named(name, index, part));
    }
    void divider(const char* name, int index, int64_t) {
        text += std::string("    ") + (wide ? "Divider64 " : "Divider32 ") + named(name, index, -1) + ";\n";
    }
    void factor(int node, Dtype dtype, double) {
        const std::string name = "factor" + str(node);
        text += dtype == FS_CHAIN_F64 ? "    double " + name + ";\n" : "    float " + name + ", " + name + "_unused;\n";
    }
};

class Writer {
public:
    Writer(const Program& program, const Plan& plan)
        : program_(program), plan_(plan), nodes_(program, plan),
          passes_(passesOf(program, plan, plan.kind == Kind::rows)) {}

    std::string write() {
        line(preludeText);
        line("// The region.");
        Declarations declarations{{}, plan_.wide};
        visitArguments(program_, plan_, declarations);
        line("struct Arguments {\n" + declarations.text + "};");
        line(std::string("using Index = ") + (plan_.wide ? "long long;" : "int;"));
        line("constexpr int width = " + str(plan_.n) + ", inFlight = " + str(plan_.inFlight) + ";");
        if (plan_.kind == Kind::pointwise)
            pointwise();
        else
            rows();
        return std::move(text_);
    }

private:
    using Nodes = std::vector<int>;

    void line(const std::string& text) { text_ += std::string(size_t(depth_) * 4, ' ') + text + "\n"; }
    void open(const std::string& text) {
        line(text + " {");
        ++depth_;
    }
    void close(const char* text = "}") {
        --depth_;
        line(text);
    }
    void unrolled(const std::string& head) {
        text_ += "#pragma unroll\n";
        open(head);
    }

    std::string indent() const { return std::string(size_t(depth_) * 4, ' '); }

    std::string packType(size_t input, const char* size) const {
        const TensorPlan& t = plan_.inputs[input];
        return std::string("Pack<") + elementType(t.dtype) + ", " + (t.access == Access::same ? "1" : size) + ">";
    }

    /// The index of each outer dimension of `row`.
    void outerIndices() {
        if (plan_.outerDims == 0) return;
        if (plan_.outerDims > 1) line("Index rest = row, next;");
        for (int d = plan_.outerDims - 1; d > 0; --d) {
            const std::string size = "a.size" + str(d);
            line("next = quotient(rest, " + size + ");");
            line("const Index d" + str(d) + " = rest - next * Index(" + size + ".divisor);");
            line("rest = next;");
        }
        line(std::string("const Index d0 = ") + (plan_.outerDims > 1 ? "rest;" : "row;"));
    }

    /// Where the row begins in a tensor.
    std::string rowStart(const char* name, size_t tensor) const {
        std::string text = "a." + std::string(name) + str(int64_t(tensor));
        for (int d = 0; d < plan_.outerDims; ++d)
            text += " + d" + str(d) + " * Index(a." + name + str(int64_t(tensor)) + "_" + str(d) + ")";
        return text;
    }

    std::string column(const char* name, size_t tensor, const TensorPlan& t) const {
        if (t.access == Access::same) return "";
        if (t.access == Access::vector) return " + column";
        return " + column * Index(a." + std::string(name) + str(int64_t(tensor)) + "_inner)";
    }

    std::string load(size_t input, const char* size) const {
        const TensorPlan& t = plan_.inputs[input];
        return std::string(t.shared ? "loadShared<" : "loadOnce<") + (t.access == Access::same ? "1" : size) + ">";
    }

    void widenInput(int input, const std::string& pack) {
        const std::string name = "v" + str(input);
        line(std::string(valueType(program_.nodes[size_t(input)].dtype)) + " " + name + "[" +
             (nodes_.perRow(input) ? "1" : "N") + "];");
        line("widen(" + pack + ", " + name + ");");
    }

    /// A result as elements of its type.
    void narrowed(int node, const std::string& to) {
        const Dtype dtype = program_.nodes[size_t(node)].dtype;
        std::string from = "v" + str(node);
        if (nodes_.perRow(node)) {
            line(std::string(valueType(dtype)) + " w" + str(node) + "[N];");
            text_ += "#pragma unroll\n";
            line("for (int i = 0; i < N; ++i) w" + str(node) + "[i] = " + from + "[0];");
            from = "w" + str(node);
        }
        line(to + "narrow<" + elementType(dtype) + ">(" + from + ");");
    }

    // Without reductions.

    void pointwise() {
        // One pack, whatever its size: the last elements of a run take it one by one.
        std::string parameters;
        for (size_t i = 0; i < plan_.inputs.size(); ++i)
            parameters += "const " + packType(i, "N") + "& q" + str(int64_t(i)) + ", ";
        for (size_t i = 0; i < plan_.outputs.size(); ++i)
            parameters += std::string(i ? ", " : "") + "Pack<" + elementType(plan_.outputs[i].dtype) + ", N>& out" +
                          str(int64_t(i));
        open("template <int N> __device__ __forceinline__ void compute(" + parameters + ")");
        for (int i = 0; i < program_.inputs; ++i) widenInput(i, "q" + str(i));
        for (size_t i = size_t(program_.inputs); i < program_.nodes.size(); ++i)
            text_ += nodes_.statements(int(i), indent());
        for (size_t i = 0; i < plan_.outputs.size(); ++i)
            narrowed(program_.outputs[i], "out" + str(int64_t(i)) + " = ");
        close();

        open("extern \"C\" __global__ void __launch_bounds__(" + str(plan_.bound) + ") " + kernelName +
             "(const __grid_constant__ Arguments a)");
        line("const Index first = Index(blockIdx.x) * (Index(blockDim.x) * inFlight) + Index(threadIdx.x);");
        for (size_t i = 0; i < plan_.inputs.size(); ++i)
            line(packType(i, "width") + " q" + str(int64_t(i)) + "[inFlight];");
        unrolled("for (int u = 0; u < inFlight; ++u)");
        place();
        for (size_t i = 0; i < plan_.inputs.size(); ++i)
            line("q" + str(int64_t(i)) + "[u] = " + load(i, "width") + "(" + rowStart("in", i) +
                 column("in", i, plan_.inputs[i]) + ");");
        close();
        unrolled("for (int u = 0; u < inFlight; ++u)");
        place();
        callCompute("width", "[u]");
        for (size_t i = 0; i < plan_.outputs.size(); ++i)
            line("store(" + rowStart("out", i) + column("out", i, plan_.outputs[i]) + ", out" + str(int64_t(i)) + ");");
        close();
        if (plan_.tail > 0) tail();
        close();
    }

    void place() {
        line("const Index pack = first + Index(u) * Index(blockDim.x);");
        line("if (pack >= Index(a.packs)) continue;");
        if (plan_.outerDims == 0) {
            line("const Index column = pack * width;");
            return;
        }
        line("const Index row = quotient(pack, a.packsOfRow);");
        line("const Index column = (pack - row * Index(a.packsOfRow.divisor)) * width;");
        outerIndices();
    }

    void callCompute(const char* size, const char* index) {
        std::string arguments;
        for (size_t i = 0; i < plan_.outputs.size(); ++i)
            line(std::string("Pack<") + elementType(plan_.outputs[i].dtype) + ", " + size + "> out" + str(int64_t(i)) +
                 ";");
        for (size_t i = 0; i < plan_.inputs.size(); ++i) arguments += "q" + str(int64_t(i)) + index + ", ";
        for (size_t i = 0; i < plan_.outputs.size(); ++i) arguments += (i ? ", out" : "out") + str(int64_t(i));
        line(std::string("compute<") + size + ">(" + arguments + ");");
    }

    void tail() {
        open("if (blockIdx.x == 0 && Index(threadIdx.x) < Index(a.tail))");
        line("const Index column = Index(a.packs) * width + Index(threadIdx.x);");
        for (size_t i = 0; i < plan_.inputs.size(); ++i)
            line("const " + packType(i, "1") + " q" + str(int64_t(i)) + " = " + load(i, "1") + "(a.in" +
                 str(int64_t(i)) + column("in", i, plan_.inputs[i]) + ");");
        callCompute("1", "");
        for (size_t i = 0; i < plan_.outputs.size(); ++i)
            line("store(a.out" + str(int64_t(i)) + " + column, out" + str(int64_t(i)) + ");");
        close();
    }

    // With row reductions: one pass over the row for each level of them, and one that writes.

    void rows() {
        open("extern \"C\" __global__ void __launch_bounds__(" + str(plan_.bound) +
             (plan_.persistent ? ", " + str(plan_.perMultiprocessor) : "") + ") " + kernelName +
             "(const __grid_constant__ Arguments a)");
        line("constexpr int N = width, rowsInFlight = " + str(plan_.rowsInFlight) + ";");
        if (plan_.lanes > 0) {
            line("constexpr int lanes = " + str(plan_.lanes) + ";");
            line("const int lane = int(threadIdx.x) % lanes, groups = int(blockDim.x) / lanes;");
        } else {
            line("const int lane = int(threadIdx.x), lanes = int(blockDim.x), groups = 1;");
            for (size_t i = 0; i < program_.nodes.size(); ++i)
                if (passes_.scratch[i] == int(i))
                    line(std::string("__shared__ ") + valueType(program_.nodes[i].dtype) + " scratch" +
                         str(int64_t(i)) + (plan_.persistent ? "[2][32];" : "[32];"));
        }
        if (plan_.persistent) {
            // Of two sets of scratch, so that a row's parts are not overwritten while a warp still reads them.
            line("int phase = 0;");
            declareSums();
            const Nodes ones = rowInputs(true);
            for (int i : ones) line(packType(size_t(i), "width") + " q" + str(i) + "[1][inFlight] = {};");
            loadRow(ones, "", true);
            copyAhead("Index(blockIdx.x) * (groups * rowsInFlight)", true);
            open("for (Index block = Index(blockIdx.x) * (groups * rowsInFlight); block < Index(a.rows); "
                 "block += Index(gridDim.x) * (groups * rowsInFlight), phase ^= 1)");
        } else {
            line("const Index block = Index(blockIdx.x) * (groups * rowsInFlight);");
        }
        line("const Index first = block + Index(threadIdx.x) / lanes;");
        for (size_t i = 0; i < plan_.inputs.size(); ++i)
            if (!loadedOnce(i))
                line(packType(i, "width") + " q" + str(int64_t(i)) + "[rowsInFlight]" +
                     (plan_.inputs[i].access == Access::same ? "" : "[inFlight]") + " = {};");
        const bool looped = plan_.kind == Kind::looped;
        if (staged()) line("awaitCopies();");
        unrolled("for (int u = 0; u < rowsInFlight; ++u)");
        openRow();
        open("if (live)");
        outerIndices();
        for (size_t i = 0; i < plan_.inputs.size(); ++i)
            if (plan_.inputs[i].access == Access::same)
                line("q" + str(int64_t(i)) + "[u] = " + load(i, "1") + "(" + rowStart("in", i) + ");");
        if (!looped) loadRow(rowInputs(false), "", true);
        close();
        close();
        copyAhead("block + Index(gridDim.x) * (groups * rowsInFlight)", false);
        unrolled("for (int u = 0; u < rowsInFlight; ++u)");
        openRow();
        outerIndices();
        for (int i = 0; i < program_.inputs; ++i)
            if (nodes_.perRow(i)) widenInput(i, "q" + str(i) + "[u]");
        for (int node : keptNodes())
            line(std::string(valueType(program_.nodes[size_t(node)].dtype)) + " k" + str(node) + "[inFlight][N];");
        for (int level = 0; level <= passes_.last; ++level) {
            if (level > 0) reduce(level);
            for (size_t i = size_t(program_.inputs); i < program_.nodes.size(); ++i)
                if (passes_.level[i] == level && nodes_.perRow(int(i)) && !nodes_.isReduction(int(i)))
                    text_ += nodes_.statements(int(i), indent());
        }
        writeRow();
        close();
        if (plan_.persistent) {
            close();
            if (std::any_of(plan_.outputs.begin(), plan_.outputs.end(), [](const TensorPlan& t) { return t.summed; }))
                line("allowNextLaunch();");
            writeSums();
        }
        close();
    }

    // Sums over rows: in registers, the columns of a thread; where a row does not fit there, in the workspace.

    const char* sumTypeOf(size_t output) const { return valueType(sumType(plan_.outputs[output].dtype)); }

    void declareSums() {
        if (plan_.kind == Kind::looped) return;
        for (size_t i = 0; i < plan_.outputs.size(); ++i)
            if (plan_.outputs[i].summed)
                line(std::string(sumTypeOf(i)) + " sum" + str(int64_t(i)) + "[inFlight][N] = {};");
    }

    std::string partOf(size_t output) const {
        return "a.out" + str(int64_t(output)) + " + (long long)(blockIdx.x) * (a.packs * width)";
    }

    void addToSum(size_t output) {
        const int node = program_.outputs[output];
        const std::string name = "sum" + str(int64_t(output)), value = nodes_.element(node);
        if (plan_.kind == Kind::looped) {
            line(std::string(sumTypeOf(output)) + " term" + str(int64_t(output)) + "[N];");
            text_ += "#pragma unroll\n";
            line("for (int i = 0; i < N; ++i) term" + str(int64_t(output)) + "[i] = " + value + ";");
            line("if (inside) addToMemory(" + partOf(output) + " + column, term" + str(int64_t(output)) +
                 ", block == Index(blockIdx.x));");
            return;
        }
        text_ += "#pragma unroll\n";
        line("for (int i = 0; i < N; ++i) " + name + "[k][i] = inside ? add(" + name + "[k][i], " + value +
             ") : " + name + "[k][i];");
    }

    void writeSums() {
        if (plan_.kind == Kind::looped) return;
        if (plan_.partBytes > 0) line("__shared__ uint4 partMemory[" + str((plan_.partBytes + 15) / 16) + "];");
        for (size_t i = 0; i < plan_.outputs.size(); ++i) {
            if (!plan_.outputs[i].summed) continue;
            const std::string name = "sum" + str(int64_t(i));
            if (plan_.lanes > 0)
                joinGroups(i, name);
            else {
                unrolled("for (int k = 0; k < inFlight; ++k)");
                line("const Index pack = lane + k * lanes;");
                line("if (pack < Index(a.packs)) storeSums(" + partOf(i) + " + pack * width, " + name + "[k]);");
                close();
            }
        }
    }

    /// The sums of a block whose rows lie beside each other: of the groups of a warp, then of the warps. One sum after
    /// another, in the same memory.
    void joinGroups(size_t output, const std::string& name) {
        open("");
        line(std::string("const auto parts = reinterpret_cast<") + sumTypeOf(output) +
             "(*)[lanes * inFlight * width]>(partMemory);");
        unrolled("for (int k = 0; k < inFlight; ++k)");
        unrolled("for (int i = 0; i < N; ++i)");
        line("auto v = " + name + "[k][i];");
        text_ += "#pragma unroll\n";
        line("for (int distance = lanes; distance < 32; distance *= 2) v = add(v, __shfl_xor_sync(0xffffffffu, v, "
             "distance));");
        line("if (int(threadIdx.x) % 32 < lanes) parts[threadIdx.x / 32][(lane + k * lanes) * width + i] = v;");
        close();
        close();
        line("__syncthreads();");
        open("for (int c = int(threadIdx.x); c < int(a.packs) * width; c += int(blockDim.x))");
        line("auto v = parts[0][c];");
        line("for (int w = 1; w < int(blockDim.x) / 32; ++w) v = add(v, parts[w][c]);");
        line("*(" + partOf(output) + " + c) = v;");
        close();
        line("__syncthreads();");
        close();
    }

    void openRow() {
        line("const Index row = first + Index(u) * groups;");
        line("const bool live = row < Index(a.rows);");
    }

    bool staged() const {
        return std::any_of(plan_.inputs.begin(), plan_.inputs.end(), [](const TensorPlan& t) { return t.staged; });
    }

    /// Asks for the rows of a block that come next. A thread reads what it has asked for itself, so that no barrier is
    /// needed; and before it asks for more.
    void copyAhead(const std::string& block, bool declare) {
        if (!staged()) return;
        if (declare)
            for (size_t i = 0; i < plan_.inputs.size(); ++i)
                if (plan_.inputs[i].staged)
                    line("__shared__ " + packType(i, "width") + " stage" + str(int64_t(i)) +
                         "[rowsInFlight][inFlight][" + str(plan_.bound) + "];");
        unrolled("for (int u = 0; u < rowsInFlight; ++u)");
        line("const Index row = " + block + " + Index(threadIdx.x) / lanes + Index(u) * groups;");
        line("if (row >= Index(a.rows)) continue;");
        outerIndices();
        unrolled("for (int k = 0; k < inFlight; ++k)");
        line("const Index pack = lane + k * lanes, column = pack * width;");
        line("if (pack >= Index(a.packs)) continue;");
        for (size_t i = 0; i < plan_.inputs.size(); ++i)
            if (plan_.inputs[i].staged)
                line("copyAhead(&stage" + str(int64_t(i)) + "[u][k][threadIdx.x], " + rowStart("in", i) +
                     " + column);");
        close();
        close();
    }

    bool loadedOnce(size_t input) const {
        return plan_.kind == Kind::rows && plan_.persistent && plan_.inputs[input].everyRow;
    }

    /// The inputs that are read by packs: `once` for all rows, or for each.
    Nodes rowInputs(bool once) const {
        Nodes inputs;
        for (size_t i = 0; i < plan_.inputs.size(); ++i)
            if (plan_.inputs[i].access != Access::same && loadedOnce(i) == once) inputs.push_back(int(i));
        return inputs;
    }

    std::string packName(int input) const {
        return "q" + str(input) + (loadedOnce(size_t(input)) ? "[0][k]" : "[u][k]");
    }

    /// Loads the packs of this thread. `known`: the row is known to be one.
    void loadRow(const Nodes& inputs, const std::string& base, bool known) {
        if (inputs.empty()) return;
        unrolled("for (int k = 0; k < inFlight; ++k)");
        line("const Index pack = " + base + "lane + k * lanes, column = pack * width;");
        line(std::string("if (pack >= Index(a.packs)") + (known ? "" : " || !live") + ") continue;");
        for (int i : inputs)
            if (plan_.inputs[size_t(i)].staged)
                line(packName(i) + " = stage" + str(i) + "[u][k][threadIdx.x];");
            else
                line(packName(i) + " = " + load(size_t(i), "width") + "(" +
                     (loadedOnce(size_t(i)) ? "a.in" + str(i) : rowStart("in", size_t(i))) +
                     column("in", size_t(i), plan_.inputs[size_t(i)]) + ");");
        close();
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
        const bool looped = plan_.kind == Kind::looped;
        if (looped) {
            Nodes inputs;
            for (int i : nodes)
                if (i < program_.inputs) inputs.push_back(i);
            open("for (Index base = 0; base < Index(a.packs); base += Index(lanes) * inFlight)");
            loadRow(inputs, "base + ", false);
        }
        unrolled("for (int k = 0; k < inFlight; ++k)");
        line(std::string("const Index pack = ") + (looped ? "base + " : "") +
             "lane + k * lanes, column = pack * width;");
        line("const bool inside = live && pack < Index(a.packs);");
        for (int i : nodes) {
            const std::string value = "v" + str(i), slot = "k" + str(i) + "[k]";
            if (std::find(kept.begin(), kept.end(), i) != kept.end()) {
                line(std::string(valueType(program_.nodes[size_t(i)].dtype)) + " " + value + "[N];");
                copyEach(value, slot);
                continue;
            }
            if (i < program_.inputs)
                widenInput(i, packName(i));
            else
                text_ += nodes_.statements(i, indent());
            if (std::find(leave.begin(), leave.end(), i) != leave.end()) copyEach(slot, value);
        }
        use();
        close();
        if (looped) close();
    }

    void copyEach(const std::string& to, const std::string& from) {
        text_ += "#pragma unroll\n";
        line("for (int i = 0; i < N; ++i) " + to + "[i] = " + from + "[i];");
    }

    /// The reductions of a level. Packs are summed first, then the packs of a thread, of its lanes, of the block.
    void reduce(int level) {
        Nodes reductions;
        for (size_t i = 0; i < program_.nodes.size(); ++i)
            if (passes_.level[i] == level && nodes_.isReduction(int(i))) reductions.push_back(int(i));
        if (reductions.empty()) return;
        for (int r : reductions)
            line(std::string(valueType(program_.nodes[size_t(r)].dtype)) + " r" + str(r) + " = " + neutral(r) + ";");
        walk(level, [&] {
            for (int r : reductions) {
                const Node& node = program_.nodes[size_t(r)];
                const std::string part = "part" + str(r), value = nodes_.operand(node, 0);
                line(std::string(valueType(node.dtype)) + " " + part + " = " + neutral(r) + ";");
                text_ += "#pragma unroll\n";
                line("for (int i = 0; i < N; ++i) " + part + " = " + combiner(r) + "::join(" + part + ", " + value +
                     ");");
                line("if (inside) r" + str(r) + " = " + combiner(r) + "::join(r" + str(r) + ", " + part + ");");
            }
        });
        const auto scratch = [&](int r) {
            return "scratch" + str(passes_.scratch[size_t(r)]) + (plan_.persistent ? "[phase]" : "");
        };
        if (plan_.lanes == 0) { // one barrier for all of them
            for (int r : reductions)
                line(std::string("leave<") + combiner(r) + ">(r" + str(r) + ", " + scratch(r) + ");");
            line("__syncthreads();");
        }
        for (int r : reductions) {
            const Node& node = program_.nodes[size_t(r)];
            const std::string joined = plan_.lanes > 0
                                           ? std::string("joinLanes<") + combiner(r) + ", lanes>(r" + str(r) + ")"
                                           : std::string("joined<") + combiner(r) + ">(" + scratch(r) + ")";
            const std::string type = valueType(node.dtype);
            line(type + " v" + str(r) + "[1];");
            line("v" + str(r) +
                 "[0] = " + (node.op == Op::mean ? "mul(" + joined + ", a.factor" + str(r) + ");" : joined + ";"));
            text_ += nodes_.roundingOf(r, indent());
        }
    }

    const char* combiner(int reduction) const {
        return program_.nodes[size_t(reduction)].op == Op::amax ? "Maximum" : "Sum";
    }

    std::string neutral(int reduction) const {
        const Node& node = program_.nodes[size_t(reduction)];
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
        return std::any_of(plan_.outputs.begin(), plan_.outputs.end(),
                           [](const TensorPlan& t) { return t.summed || !t.perRow; });
    }

    void writeRow() {
        if (anyWhole())
            walk(passes_.last + 1, [&] {
                for (size_t i = 0; i < plan_.outputs.size(); ++i) {
                    if (plan_.outputs[i].summed) {
                        addToSum(i);
                        continue;
                    }
                    if (plan_.outputs[i].perRow) continue;
                    narrowed(program_.outputs[i], "const auto out" + str(int64_t(i)) + " = ");
                    line("if (inside) store(" + rowStart("out", i) + column("out", i, plan_.outputs[i]) + ", out" +
                         str(int64_t(i)) + ");");
                }
            });
        for (size_t i = 0; i < plan_.outputs.size(); ++i) {
            if (!plan_.outputs[i].perRow || plan_.outputs[i].summed) continue;
            const std::string node = str(program_.outputs[i]);
            line("if (live && lane == 0) store(" + rowStart("out", i) + ", narrow<" +
                 elementType(plan_.outputs[i].dtype) + ">(v" + node + "));");
        }
    }

    const Program& program_;
    const Plan& plan_;
    NodeWriter nodes_;
    Passes passes_;
    std::string text_;
    int depth_ = 0;
};

} // namespace

std::string sourceOf(const Program& program, const Plan& plan) { return Writer(program, plan).write(); }

} // namespace fusescope::kernels::chain
