// SPDX-License-Identifier: Apache-2.0
// One line of the layout protocol, read as a request and as a result.
#include "core/ipc/layout_protocol.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fusescope;
    const std::string_view line(reinterpret_cast<const char*>(data), size);
    const Result<LayoutRequest> request = decodeLayoutRequest(line);
    if (request) {
        // What was accepted survives a round trip, and any layout of it fits it.
        const Result<LayoutRequest> again = decodeLayoutRequest(encodeLayoutRequest(*request));
        if (!again || hashOf(*again) != hashOf(*request)) std::abort();
        const LayoutResult layout = layeredLayout(*request);
        if (!decodeLayoutResult(encodeLayoutResult(layout), *request)) std::abort();
        (void)dotText(*request);
    }
    LayoutRequest asked;
    asked.boxes.assign(2, {10, 10, -1});
    asked.edges.resize(1);
    (void)decodeLayoutResult(line, asked);
    return 0;
}
