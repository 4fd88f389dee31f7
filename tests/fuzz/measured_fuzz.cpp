// SPDX-License-Identifier: Apache-2.0
// Measured results and regions out of a session or of what `fuse --json` wrote.
#include "core/measured/measured_json.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

std::string written(const fusescope::MeasuredFile& file) {
    fusescope::JsonWriter json;
    json.beginObject().member("schema", "fusescope.session/1").key("measured");
    writeMeasured(json, file.set);
    json.key("regions");
    writeChosenRegions(json, file.regions);
    json.endObject();
    return std::move(json).take();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fusescope;
    const Result<MeasuredFile> file = readMeasured({reinterpret_cast<const char*>(data), size}, "input");
    if (!file) return 0;
    // What was accepted survives a round trip.
    const std::string text = written(*file);
    const Result<MeasuredFile> again = readMeasured(text, "again");
    if (!again || written(*again) != text) std::abort();
    return 0;
}
