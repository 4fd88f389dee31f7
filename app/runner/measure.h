// SPDX-License-Identifier: GPL-3.0-or-later
// How long something takes. On the GPU between CUDA events, with L2 emptied before and a head start of a sleeping
// kernel, so that the CPU gets ahead and no gap is measured; on the CPU as wall time. Candidates that are compared run
// in turn, so that clocks and other jobs meet all of them.
#pragma once

#include "device.h"
#include "job.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fusescope::runner {

using Run = std::function<void(std::size_t round)>;

struct Candidate {
    explicit Candidate(Run candidate) : run(std::move(candidate)) {}
    Run run;
    std::vector<double> us;   // of the rounds
    double head_start_ms = 1; // what its launches take on the CPU, and half as much again
    double peak_bytes = 0;    // that a run allocates beyond what was there
};

[[nodiscard]] Spread spreadOf(std::vector<double> values);

class Stopwatch {
public:
    Stopwatch(const Device& device, const Job& job) : device_(device), job_(job) {}

    // Takes the memory that measuring needs, so that none is taken later.
    void prepare();
    // Warms up and fills each candidate's `us` with up to `rounds` values: fewer, but one, when they would take more
    // than `budget_s`.
    void measure(std::vector<Candidate>& candidates, int rounds, double budget_s, const std::string& stage, double from,
                 double to);

private:
    double once(const Candidate& candidate, std::size_t round);
    double warmUp(Candidate& candidate) const; // seconds of a run
    void emptyL2();

    const Device& device_;
    const Job& job_;
    at::Tensor flush_; // larger than L2
};

// A copy of tensors on the device that moves `bytes`, read and written together.
[[nodiscard]] Run copyOf(double bytes, const Device& device);

// A run under a CUDA graph.
class Graph {
public:
    // Nothing where `run` cannot be captured (it waits for the GPU, or there is no GPU). `run` returns what has to live
    // as long as the graph. It ran before, on the current stream.
    static std::unique_ptr<Graph> capture(const Device& device, const std::function<std::vector<at::Tensor>()>& run);
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph();

    void replay() const;
    [[nodiscard]] int kernels() const { return kernels_; }

private:
    Graph() = default;
    struct State;
    std::unique_ptr<State> state_;
    int kernels_ = 0;
};

} // namespace fusescope::runner
