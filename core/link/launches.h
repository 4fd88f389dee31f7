// SPDX-License-Identifier: Apache-2.0
// GPU work -> the operator around its launch. Private to core/link.
#pragma once

#include "core/link/cpu_context.h"
#include "core/link/link.h"

#include <cstdint>
#include <vector>

namespace fusescope {

class Launches {
public:
    explicit Launches(const TraceStore& trace);

    // One launch, many kernels: a replayed CUDA graph.
    [[nodiscard]] bool captured(SliceId launch) const;
    // The cpu_op that carries this External id: around the launch if there is one, else the last before time ts.
    [[nodiscard]] CpuOpId opOfExternalId(std::uint32_t external_id, SliceId launch, std::int64_t ts) const;

private:
    struct Row {
        std::uint32_t key;
        std::uint32_t value;
    };
    // Rows of one key, in time order.
    [[nodiscard]] static std::pair<const Row*, const Row*> rowsOf(const std::vector<Row>& rows, std::uint32_t key);

    const TraceStore& trace_;
    std::vector<Row> externals_;          // External id -> cpu op
    std::vector<std::uint32_t> captured_; // rows of launches, sorted
};

// Fills launch and op (with how) of one piece of GPU work; returns the context the rest is read from.
struct Launched {
    const CpuContext* context = nullptr; // of the launch; null without a launch
    bool captured = false;
};
Launched linkLaunch(const TraceStore& trace, const Launches& launches, const CpuContexts& contexts, SliceId gpu,
                    WorkLink& work);

} // namespace fusescope
