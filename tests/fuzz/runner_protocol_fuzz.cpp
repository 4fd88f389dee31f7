// SPDX-License-Identifier: Apache-2.0
// One line of the runner's protocol, read as everything it could be.
#include "core/ipc/runner_protocol.h"
#include "core/region/region_json.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fusescope;
    const std::string_view line(reinterpret_cast<const char*>(data), size);
    // What was accepted survives a round trip, unless it has grown beyond a line.
    if (const Result<RunnerRequest> request = decodeRequest(line)) {
        if (requestIdIn(line) != request->id) std::abort();
        if (const Result<std::string> text = encodeRequest(*request)) {
            const Result<RunnerRequest> again = decodeRequest(*text);
            if (!again || *encodeRequest(*again) != *text) std::abort();
        }
    }
    if (const Result<RunnerAnswer> answer = decodeAnswer(line))
        if (const Result<std::string> text = encodeAnswer(*answer)) {
            const Result<RunnerAnswer> again = decodeAnswer(*text);
            if (!again || *encodeAnswer(*again) != *text) std::abort();
        }
    if (const Result<RunnerHello> hello = decodeHello(line)) {
        const std::string text = encodeHello(*hello);
        const Result<RunnerHello> again = decodeHello(text);
        if (text.size() <= kMaxRunnerLine && (!again || encodeHello(*again) != text)) std::abort();
    }
    if (const Result<Region> region = regionFromJson(line)) {
        if (!checkRegion(*region)) std::abort();
        const std::string text = regionJson(*region);
        const Result<Region> again = regionFromJson(text);
        if (!again || regionJson(*again) != text) std::abort();
    }
    return 0;
}
