// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/plan.h"

#include "kernels/pointwise_chain/layout.h"
#include "kernels/pointwise_chain/passes.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fusescope::kernels::chain {
namespace {

constexpr int64_t most32 = (int64_t{1} << 31) - (int64_t{1} << 20); // room for the last block's overshoot
constexpr int64_t maxBlocks = (int64_t{1} << 31) - 1;
constexpr int sharedMemory = 48 * 1024; // what a kernel may declare

int64_t rounded(int64_t v, int64_t to) { return (v + to - 1) / to * to; }
int64_t quotientUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The second half of a plan: how wide the accesses are, and the launch.
class Launch {
public:
    Launch(const Program& program, const FsLaunchHint& hint, int multiprocessors, Plan& plan)
        : program_(program), hint_(hint), multiprocessors_(multiprocessors), plan_(plan) {}

    void choose() {
        chooseWidth();
        chooseIndices();
        if (plan_.kind == Kind::pointwise)
            shapePointwise();
        else
            shapeRows();
    }

private:
    size_t tensors() const { return plan_.inputs.size() + plan_.outputs.size(); }

    bool oneRun() const { return plan_.kind == Kind::pointwise && plan_.outerDims == 0; }

    void chooseWidth() {
        int smallest = 16;
        bool strided = false;
        for (size_t t = 0; t < tensors(); ++t) {
            const TensorPlan& p = plan_.tensor(t);
            if (p.summed) continue;
            strided = strided || p.access == Access::strided;
            // Masks need not fill 16 bytes: their neighbours would need registers for it.
            if (p.access == Access::vector) smallest = std::min(smallest, std::max(2, sizeOf(p.dtype)));
        }
        plan_.n = strided || hint_.variant < 0 ? 1 : 16 / smallest;
        while (plan_.n > 1 && !suits(plan_.n)) plan_.n /= 2;
        plan_.tail = oneRun() ? plan_.width % plan_.n : 0;
        plan_.packsOfRow = plan_.width / plan_.n;
        plan_.packs = plan_.kind == Kind::pointwise ? plan_.packsOfRow * plan_.rows : plan_.packsOfRow;
    }

    bool suits(int n) {
        if (!oneRun() && plan_.width % n != 0) return false;
        for (size_t t = 0; t < tensors(); ++t) {
            const TensorPlan& p = plan_.tensor(t);
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
        plan_.wide = plan_.rows > (plan_.kind == Kind::rows ? most32 / 2 : most32) || plan_.packs > most32 ||
                     plan_.width > most32;
        for (size_t t = 0; t < tensors(); ++t) {
            const TensorPlan& p = plan_.tensor(t);
            if (p.summed) continue;
            double furthest = double(std::max(plan_.width, int64_t{1}) - 1) * double(p.inner);
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
        const int wanted = hint_.threads;
        return wanted > 0 ? int(rounded(std::min(wanted, 1024), 32)) : otherwise;
    }

    void shapePointwise() {
        setThreads(hintedThreads(256));
        // Where the packs do not fill the device twice, more threads serve better than more packs a thread.
        const bool few = plan_.packs < int64_t(multiprocessors_) * 2048 * 2;
        plan_.inFlight = few ? 1 : plan_.n == 1 ? 4 : std::max(1, 4 / pieces());
        if (hint_.variant > 0) plan_.inFlight = std::min(hint_.variant, 8);
        const int64_t tile = int64_t(plan_.threads) * plan_.inFlight;
        plan_.grid = std::max<int64_t>(1, quotientUp(plan_.packs, tile));
    }

    void shapeRows() {
        const int64_t packs = plan_.packs;
        const bool few = plan_.rows < 2 * multiprocessors_;
        const int hinted = hint_.variant > 0 ? std::min(hint_.variant, 8) : 0;
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
        plan_.persistent = plan_.persistent || hint_.blocks_per_sm > 0;
        if (!plan_.persistent) return;
        // What the compiler needs beyond the least: short of it, it spills.
        const int registers = plan_.kind == Kind::looped ? 64 : registersOf(plan_.inFlight) + 24;
        const int fitting = int(std::lround(65536. / (registers * plan_.bound)));
        const int wanted = hint_.blocks_per_sm > 0 ? hint_.blocks_per_sm : fitting;
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
    const FsLaunchHint& hint_;
    int multiprocessors_;
    Plan& plan_;
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

bool outputsHaveElements(const Program& program, const Shapes& shapes) {
    return std::any_of(program.outputs.begin(), program.outputs.end(),
                       [&](auto node) { return shapes.nodes[size_t(node)].count() > 0; });
}

} // namespace

std::variant<Plan, std::string> planOf(const Program& program, const FsPointwiseChain& call, int multiprocessors) {
    auto shapes = shapesOf(program, call.inputs);
    if (auto* problem = std::get_if<std::string>(&shapes)) return std::move(*problem);
    const Shapes& known = std::get<Shapes>(shapes);
    Plan plan;
    plan.rounding = call.rounding;
    if (std::string problem = layOut(program, call, known, plan); !problem.empty()) return problem;
    if (outputsHaveElements(program, known)) {
        Launch(program, call.hint, multiprocessors, plan).choose();
        if (plan.grid > maxBlocks) return std::string("more elements than one launch covers");
    }
    plan.key = keyOf(plan);
    return plan;
}

} // namespace fusescope::kernels::chain
