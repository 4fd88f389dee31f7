// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/plan.h"

#include "kernels/pointwise_chain/passes.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fusescope::kernels::chain {
namespace {

constexpr int64_t most32 = (int64_t{1} << 31) - (int64_t{1} << 20); // room for the last block's overshoot
constexpr int64_t maxBlocks = (int64_t{1} << 31) - 1;
constexpr int maxTensors = FS_CHAIN_MAX_INPUTS + FS_CHAIN_MAX_OUTPUTS;
constexpr int sharedMemory = 48 * 1024; // what a kernel may declare

/// A dimension of the region and how far it leads in each tensor, inputs first.
struct Dim {
    int64_t size = 1;
    std::array<int64_t, maxTensors> stride{};
};

int64_t rounded(int64_t v, int64_t to) { return (v + to - 1) / to * to; }
int64_t quotientUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

class Planner {
public:
    Planner(const Program& program, const FsPointwiseChain& call, int multiprocessors)
        : program_(program), call_(call), multiprocessors_(multiprocessors) {}

    std::variant<Plan, std::string> plan() {
        auto shapes = shapesOf(program_, call_.inputs);
        if (auto* problem = std::get_if<std::string>(&shapes)) return *problem;
        shapes_ = std::get<Shapes>(std::move(shapes));
        plan_.rounding = call_.rounding;
        if (std::string problem = checkTensors(); !problem.empty()) return problem;
        findReductions();
        layOut();
        plan_.width = width_;
        if (!outputsHaveElements()) return std::move(plan_);
        chooseWidth();
        chooseIndices();
        if (plan_.kind == Kind::pointwise)
            shapePointwise();
        else
            shapeRows();
        if (plan_.grid > maxBlocks) return std::string("more elements than one launch covers");
        return std::move(plan_);
    }

private:
    const FsChainTensor& tensor(size_t t) const {
        const size_t inputs = size_t(program_.inputs);
        return t < inputs ? call_.inputs[t] : call_.outputs[t - inputs];
    }
    size_t tensors() const { return size_t(program_.inputs) + program_.outputs.size(); }
    TensorPlan& planned(size_t t) {
        const size_t inputs = size_t(program_.inputs);
        return t < inputs ? plan_.inputs[t] : plan_.outputs[t - inputs];
    }

    std::string checkTensors() {
        for (size_t t = 0; t < tensors(); ++t) {
            const bool output = t >= size_t(program_.inputs);
            const size_t node = output ? size_t(program_.outputs[t - size_t(program_.inputs)]) : t;
            const FsChainTensor& given = tensor(t);
            const bool summed = output && program_.summed[t - size_t(program_.inputs)];
            const Shape shape =
                output ? outputShape(program_, shapes_, t - size_t(program_.inputs)) : shapes_.nodes[node];
            const std::string name = (output ? "output %" : "input %") + std::to_string(node);
            if (output) {
                Shape found;
                found.dims = given.dims;
                for (int d = 0; d < std::min(int(given.dims), int(FS_CHAIN_MAX_DIMS)); ++d)
                    found.size[size_t(d)] = given.size[d];
                if (given.dtype != program_.nodes[node].dtype)
                    return name + ": expected " + nameOf(program_.nodes[node].dtype) + ", found " + nameOf(given.dtype);
                if (!(found == shape)) return name + ": expected shape " + textOf(shape) + ", found " + textOf(found);
            }
            if (shape.count() > 0 && !given.data) return name + ": expected data, found a null pointer";
            std::vector<std::pair<int64_t, int64_t>> spans; // stride, size
            for (int d = 0; d < shape.dims; ++d) {
                if (given.size[d] <= 1) continue; // the stride of a single one has no meaning and may be anything
                if (given.stride[d] < 0 || given.stride[d] > (int64_t{1} << 46) / given.size[d])
                    return name + ": stride " + std::to_string(given.stride[d]) + " cannot be";
                spans.emplace_back(given.stride[d], given.size[d]);
            }
            if (!output || shape.count() == 0) continue;
            if (summed && shape.last() > 1 && given.stride[0] != 1)
                return name + ": expected the elements of a sum over rows side by side, found stride " +
                       std::to_string(given.stride[0]);
            std::sort(spans.begin(), spans.end());
            int64_t covered = 1;
            for (auto [stride, size] : spans) {
                if (stride < covered) return name + ": its elements overlap";
                covered = (size - 1) * stride + covered;
            }
        }
        return {};
    }

    void findReductions() {
        plan_.trivial.assign(program_.nodes.size(), false);
        plan_.factor.assign(program_.nodes.size(), 1);
        const int64_t width = shapes_.region.last();
        bool rows = false;
        for (size_t i = 0; i < program_.nodes.size(); ++i) {
            const Node& node = program_.nodes[i];
            if (!isReduction(node.op)) continue;
            const Shape& of = shapes_.nodes[size_t(node.operands[0].node)];
            plan_.trivial[i] = of.last() == 1;
            rows = rows || !plan_.trivial[i];
            // PyTorch's factor, in the type of the sum: outputs over elements.
            const auto outputs = double(shapes_.nodes[i].count()), elements = double(of.count());
            plan_.factor[i] =
                node.dtype == FS_CHAIN_F64 ? outputs / elements : double(float(outputs) / float(elements));
        }
        for (size_t i = 0; i < program_.outputs.size(); ++i) {
            const bool whole = shapes_.nodes[size_t(program_.outputs[i])] == shapes_.region;
            rows = rows || program_.summed[i] || (width != 1 && !whole);
            plan_.persistent = plan_.persistent || program_.summed[i];
        }
        if (rows) plan_.kind = Kind::rows;
    }

    /// Merges dimensions that one stride spans in every tensor.
    void layOut() {
        std::vector<Dim> dims;
        const int all = shapes_.region.dims;
        for (int d = 0; d < all; ++d) {
            Dim dim;
            dim.size = shapes_.region.size[size_t(d)];
            for (size_t t = 0; t < tensors(); ++t) {
                const FsChainTensor& given = tensor(t);
                const int at = d - (all - given.dims);
                if (at >= 0 && given.size[at] != 1) dim.stride[t] = given.stride[at];
            }
            dims.push_back(dim);
        }
        Dim last;
        const bool rows = plan_.kind != Kind::pointwise;
        if (rows) {
            last = dims.back();
            dims.pop_back();
        }
        std::erase_if(dims, [](const Dim& d) { return d.size == 1; });
        // The order of the first output, so that a permuted whole is walked along its memory.
        if (!rows)
            std::stable_sort(dims.begin(), dims.end(), [&](const Dim& a, const Dim& b) {
                return a.stride[size_t(program_.inputs)] > b.stride[size_t(program_.inputs)];
            });
        std::vector<Dim> merged;
        for (const Dim& dim : dims) {
            bool fits = !merged.empty();
            for (size_t t = 0; fits && t < tensors(); ++t) fits = merged.back().stride[t] == dim.stride[t] * dim.size;
            if (!fits) {
                merged.push_back(dim);
                continue;
            }
            merged.back().size *= dim.size;
            merged.back().stride = dim.stride;
        }
        if (!rows && !merged.empty()) {
            last = merged.back();
            merged.pop_back();
        }
        width_ = last.size;
        plan_.outerDims = int(merged.size());
        plan_.inputs.resize(size_t(program_.inputs));
        plan_.outputs.resize(program_.outputs.size());
        for (size_t d = 0; d < merged.size(); ++d) {
            plan_.outerSize[d] = merged[d].size;
            plan_.rows *= merged[d].size;
        }
        for (size_t t = 0; t < tensors(); ++t) {
            TensorPlan& p = planned(t);
            p.data = tensor(t).data;
            p.dtype = tensor(t).dtype;
            p.inner = last.stride[t];
            p.access = p.inner == 1 ? Access::vector : p.inner == 0 ? Access::same : Access::strided;
            if (t >= size_t(program_.inputs)) {
                const size_t node = size_t(program_.outputs[t - size_t(program_.inputs)]);
                p.summed = program_.summed[t - size_t(program_.inputs)];
                p.perRow = rows && width_ != 1 && shapes_.nodes[node].last() == 1;
                if (p.access == Access::same && !p.perRow) p.access = Access::vector; // a width of 0 or 1
            } else if (width_ == 0 && shapes_.nodes[t].last() == 0) {
                p.access = Access::vector;
            }
            for (size_t d = 0; d < merged.size(); ++d) {
                p.outer[d] = merged[d].stride[t];
                p.shared = p.shared || p.outer[d] == 0;
            }
            if (p.access == Access::same) p.shared = true;
            p.everyRow = rows && t < size_t(program_.inputs) && p.access != Access::same &&
                         std::all_of(p.outer.begin(), p.outer.end(), [](int64_t stride) { return stride == 0; });
        }
    }

    bool outputsHaveElements() const {
        for (size_t i = 0; i < program_.outputs.size(); ++i)
            if (shapes_.nodes[size_t(program_.outputs[i])].count() > 0) return true;
        return false;
    }

    bool oneRun() const { return plan_.kind == Kind::pointwise && plan_.outerDims == 0; }

    void chooseWidth() {
        int smallest = 16;
        bool strided = false;
        for (size_t t = 0; t < tensors(); ++t) {
            const TensorPlan& p = planned(t);
            if (p.summed) continue;
            strided = strided || p.access == Access::strided;
            // Masks need not fill 16 bytes: their neighbours would need registers for it.
            if (p.access == Access::vector) smallest = std::min(smallest, std::max(2, sizeOf(p.dtype)));
        }
        plan_.n = strided || call_.hint.variant < 0 ? 1 : 16 / smallest;
        while (plan_.n > 1 && !suits(plan_.n)) plan_.n /= 2;
        plan_.tail = oneRun() ? width_ % plan_.n : 0;
        plan_.packsOfRow = width_ / plan_.n;
        plan_.packs = plan_.kind == Kind::pointwise ? plan_.packsOfRow * plan_.rows : plan_.packsOfRow;
    }

    bool suits(int n) {
        if (!oneRun() && width_ % n != 0) return false;
        for (size_t t = 0; t < tensors(); ++t) {
            const TensorPlan& p = planned(t);
            if (p.access != Access::vector || p.summed) continue;
            const auto alignment = uint64_t(std::min(16, n * sizeOf(p.dtype)));
            if (reinterpret_cast<uintptr_t>(p.data) % alignment != 0) return false;
            for (int d = 0; d < plan_.outerDims; ++d)
                if (uint64_t(p.outer[size_t(d)]) * uint64_t(sizeOf(p.dtype)) % alignment != 0) return false;
        }
        return true;
    }

    void chooseIndices() {
        // The blocks of a grid that stays step beyond the last row by as many rows as all of them take.
        plan_.wide =
            plan_.rows > (plan_.kind == Kind::rows ? most32 / 2 : most32) || plan_.packs > most32 || width_ > most32;
        for (size_t t = 0; t < tensors(); ++t) {
            const TensorPlan& p = planned(t);
            if (p.summed) continue;
            double furthest = double(std::max(width_, int64_t{1}) - 1) * double(p.inner);
            for (int d = 0; d < plan_.outerDims; ++d)
                furthest += double(plan_.outerSize[size_t(d)] - 1) * double(p.outer[size_t(d)]);
            plan_.wide = plan_.wide || furthest > double(most32);
        }
    }

    /// 16-byte pieces that a pack brings of the inputs that are read once, at least 1.
    int pieces() const {
        int pieces = 0;
        for (const TensorPlan& p : plan_.inputs)
            if (!p.shared) pieces += std::max(1, plan_.n * sizeOf(p.dtype) / 16);
        return std::max(1, pieces);
    }

    /// Registers that a pack of every input takes.
    int packRegisters() const {
        int words = 0;
        for (const TensorPlan& p : plan_.inputs)
            if (p.access != Access::same) words += std::max(1, plan_.n * sizeOf(p.dtype) / 4);
        return words;
    }

    void setThreads(int64_t threads) {
        plan_.threads = int(threads);
        // Few bounds, so that nearby sizes share a kernel.
        plan_.bound = int(threads <= 128 ? std::max<int64_t>(32, int64_t(std::bit_ceil(unsigned(threads))))
                                         : rounded(threads, 128));
    }

    /// Whole warps, as the hint asks; `otherwise` without a hint.
    int hintedThreads(int otherwise) const {
        const int wanted = call_.hint.threads;
        return wanted > 0 ? int(rounded(std::min(wanted, 1024), 32)) : otherwise;
    }

    void shapePointwise() {
        setThreads(hintedThreads(256));
        // Where the packs do not fill the device twice, more threads serve better than more packs a thread.
        const bool few = plan_.packs < int64_t(multiprocessors_) * 2048 * 2;
        plan_.inFlight = few ? 1 : plan_.n == 1 ? 4 : std::max(1, 4 / pieces());
        if (call_.hint.variant > 0) plan_.inFlight = std::min(call_.hint.variant, 8);
        const int64_t tile = int64_t(plan_.threads) * plan_.inFlight;
        plan_.grid = std::max<int64_t>(1, quotientUp(plan_.packs, tile));
    }

    void shapeRows() {
        const int64_t packs = plan_.packs;
        const bool few = plan_.rows < 2 * multiprocessors_;
        const int hinted = call_.hint.variant > 0 ? std::min(call_.hint.variant, 8) : 0;
        if (packs >= 1 && packs <= 32) {
            plan_.inFlight = packs == 1 ? 1 : 2;
            plan_.lanes = int(std::bit_ceil(unsigned(quotientUp(packs, plan_.inFlight))));
            plan_.rowsInFlight = hinted ? hinted : few ? 1 : std::max(1, 4 / (plan_.inFlight * pieces()));
            setThreads(hintedThreads(256));
            while (partBytes() > sharedMemory) setThreads(rounded(plan_.threads / 2, 32));
            plan_.partBytes = partBytes();
            plan_.grid = quotientUp(plan_.rows, int64_t(plan_.threads / plan_.lanes) * plan_.rowsInFlight);
            stay();
            return;
        }
        plan_.grid = plan_.rows;
        // Few rows: more threads a row, so that each waits for fewer loads. Many: fewer threads a row, so that a
        // barrier costs less and more bytes are under way.
        // With sums over rows a block takes several rows one after another, however few there are; and without a
        // barrier more warps serve better.
        const bool barriers = passesOf(program_, plan_, false).last > 0;
        const int chosen = plan_.persistent ? (few || !barriers ? 2 : 4) : few ? 1 : 4;
        for (int perThread = hinted ? hinted : chosen; packs > 0 && perThread <= 8; perThread *= 2) {
            const int64_t threads = rounded(quotientUp(packs, perThread), 32);
            if (threads > 1024) continue;
            setThreads(threads);
            plan_.inFlight = int(quotientUp(packs, threads));
            if (registersOf(plan_.inFlight) > std::min(255, 65536 / plan_.bound)) continue;
            stay();
            return;
        }
        plan_.kind = Kind::looped;
        setThreads(hintedThreads(packs == 0 ? 32 : 512));
        plan_.inFlight = packs == 0 ? 1 : std::max(1, 4 / pieces());
        stay();
    }

    /// A grid whose blocks go from row to row, as many as fit on the device. Few rows: half as many blocks as rows,
    /// since each leaves a part of the sums; but all multiprocessors.
    void stay() {
        plan_.persistent = plan_.persistent || call_.hint.blocks_per_sm > 0;
        if (!plan_.persistent) return;
        // What the compiler needs beyond the least: short of it, it spills.
        const int registers = plan_.kind == Kind::looped ? 64 : registersOf(plan_.inFlight) + 24;
        const int fitting = int(std::lround(65536. / (registers * plan_.bound)));
        const int wanted = call_.hint.blocks_per_sm > 0 ? call_.hint.blocks_per_sm : fitting;
        plan_.perMultiprocessor = std::clamp(wanted, 1, 2048 / plan_.bound);
        stage();
        const bool sums = std::find(program_.summed.begin(), program_.summed.end(), true) != program_.summed.end();
        if (sums) plan_.grid = std::min(plan_.grid, std::max<int64_t>(multiprocessors_, plan_.grid / 2));
        plan_.grid = std::min(plan_.grid, int64_t(multiprocessors_) * plan_.perMultiprocessor);
    }

    /// Shared memory in which the groups of a block join a sum over rows; one sum at a time.
    int partBytes() const {
        int bytes = 0;
        for (const TensorPlan& p : plan_.outputs)
            if (p.summed)
                bytes = std::max(bytes,
                                 plan_.bound / 32 * plan_.lanes * plan_.inFlight * plan_.n * sizeOf(sumType(p.dtype)));
        return bytes;
    }

    /// Shared memory in which the warps of a block join a row's reductions, in two sets.
    int scratchBytes() const {
        if (plan_.lanes > 0) return 0;
        const std::vector<int> scratch = passesOf(program_, plan_, false).scratch;
        int bytes = 0;
        for (size_t i = 0; i < scratch.size(); ++i)
            if (scratch[i] == int(i)) bytes += 2 * 32 * std::max(4, sizeOf(program_.nodes[i].dtype));
        return bytes;
    }

    /// Which inputs' next rows wait in shared memory: as many as leave the blocks their places.
    void stage() {
        if (plan_.kind != Kind::rows) return;
        int room = std::min(
            {44 * 1024, 200 * 1024 / plan_.perMultiprocessor, sharedMemory - plan_.partBytes - scratchBytes()});
        for (TensorPlan& p : plan_.inputs) {
            const int pack = plan_.n * sizeOf(p.dtype),
                      bytes = pack * plan_.inFlight * plan_.rowsInFlight * plan_.bound;
            p.staged = p.access == Access::vector && !p.everyRow && pack >= 4 && bytes <= room;
            if (p.staged) room -= bytes;
        }
    }

    /// What a thread may need that has its part of a row in registers: the packs as they came, what a pass leaves for
    /// the next, sums over rows, and the pack under work.
    int registersOf(int perThread) const {
        int sums = 0;
        for (const TensorPlan& p : plan_.outputs)
            if (p.summed) sums += plan_.n * sizeOf(sumType(p.dtype)) / 4;
        int kept = 0;
        for (const std::vector<int>& nodes : passesOf(program_, plan_, true).kept) {
            int words = 0;
            for (int node : nodes) words += plan_.n * std::max(1, sizeOf(program_.nodes[size_t(node)].dtype) / 4);
            kept = std::max(kept, words);
        }
        const int row = perThread * (packRegisters() + kept + sums);
        // A grid that stays asks for a number of blocks, for which the compiler does with less.
        return sums > 0 ? 48 + row : 48 + row + 2 * plan_.n;
    }

    const Program& program_;
    const FsPointwiseChain& call_;
    int multiprocessors_;
    Shapes shapes_;
    Plan plan_;
    int64_t width_ = 1;
};

/// floor(n / divisor) for n < 2^31 as a product: (high(n * magic) + n) >> shift.
uint64_t magicOf(uint32_t divisor, uint32_t& shift) {
    for (shift = 0; (uint64_t{1} << shift) < divisor; ++shift) {
    }
    return ((uint64_t{1} << 32) * ((uint64_t{1} << shift) - divisor)) / divisor + 1;
}

struct Filler {
    const Plan& plan;
    std::vector<uint64_t> words;

    void pointer(const char*, int, Dtype, bool, void* value) { words.push_back(reinterpret_cast<uintptr_t>(value)); }
    void number(const char*, int, int, int64_t value) { words.push_back(uint64_t(value)); }
    void divider(const char*, int, int64_t divisor) {
        uint32_t shift = 0;
        const uint64_t magic = plan.wide ? 0 : magicOf(uint32_t(divisor), shift);
        words.push_back(plan.wide ? uint64_t(divisor) : uint64_t(uint32_t(divisor)) | magic << 32);
        words.push_back(shift);
    }
    void factor(int, Dtype dtype, double value) {
        words.push_back(dtype == FS_CHAIN_F64 ? std::bit_cast<uint64_t>(value)
                                              : uint64_t(std::bit_cast<uint32_t>(float(value))));
    }
};

std::string keyOf(const Plan& p) {
    std::string key;
    for (int v : {int(p.kind), int(p.rounding), p.n, p.inFlight, p.rowsInFlight, p.lanes, p.bound, int(p.wide),
                  int(p.tail > 0), p.outerDims, p.persistent ? p.perMultiprocessor : 0})
        key += std::to_string(v) + ' ';
    for (const auto* tensors : {&p.inputs, &p.outputs})
        for (const TensorPlan& t : *tensors) key += char('a' + 2 * int(t.access) + int(t.shared) + 6 * int(t.everyRow));
    for (bool t : p.trivial) key += t ? '1' : '0';
    return key;
}

size_t sumsOf(const Plan& plan, const TensorPlan& t) {
    constexpr size_t alignment = 256;
    const size_t bytes = size_t(plan.grid) * size_t(plan.width) * size_t(sizeOf(sumType(t.dtype)));
    return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

size_t workspaceOf(const Plan& plan) {
    size_t bytes = 0;
    for (const TensorPlan& t : plan.outputs)
        if (t.summed) bytes += sumsOf(plan, t);
    return bytes;
}

void placeSums(Plan& plan, void* workspace) {
    char* at = static_cast<char*>(workspace);
    for (TensorPlan& t : plan.outputs) {
        if (!t.summed) continue;
        t.partial = at;
        at += sumsOf(plan, t);
    }
}

std::variant<Plan, std::string> planOf(const Program& program, const FsPointwiseChain& call, int multiprocessors) {
    auto made = Planner(program, call, multiprocessors).plan();
    if (auto* plan = std::get_if<Plan>(&made)) plan->key = keyOf(*plan);
    return made;
}

std::vector<uint64_t> argumentsOf(const Program& program, const Plan& plan) {
    Filler filler{plan, {}};
    visitArguments(program, plan, filler);
    return std::move(filler.words);
}

} // namespace fusescope::kernels::chain
