// SPDX-License-Identifier: Apache-2.0
// Measured results as JSON: the member "measured" of a session (fusescope.session/1) and of what `fuse --json` writes
// (fusescope.fuse/1). An entry holds the runner's own answer, so the protocol checks what is read back. Beside it, in a
// session, the member "regions": what the user chose, which some of the results are of.
#pragma once

#include "core/base/json_writer.h"
#include "core/measured/measured.h"
#include "core/region/chosen.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

// What one file holds at most, so that a hostile one is no burden: readMeasured() refuses more. The same of what a
// session holds, or it could not be opened again: the window refuses more where it is added, and what several windows
// keep together ends there (core/measured/merge.h).
constexpr std::size_t kMostFileBytes = std::size_t{64} << 20, kMostFileResults = 10'000, kMostFileRegions = 1000,
                      kMostFileText = 65'536; // bytes of a name or a note; of nodes and fusions kMaxRegionSteps
[[nodiscard]] bool fitsIntoFile(const ChosenRegion& region);

struct MeasuredFile {
    MeasuredSet set;
    std::vector<ChosenRegion> regions; // of each what workOfChosen() makes it again from: module, nodes, fusions, note
};

void writeMeasured(JsonWriter& json, const MeasuredSet& set);                     // an array
void writeChosenRegions(JsonWriter& json, std::span<const ChosenRegion> regions); // an array
// Of a whole session or fuse file; without "regions" (a fuse file, a session of an earlier version) there are none.
// Errors: another kind of file, no such member, an entry that cannot be read, more entries or bytes than make sense.
// `where` names the file.
[[nodiscard]] Result<MeasuredFile> readMeasured(std::string_view text, const std::string& where);
[[nodiscard]] Result<MeasuredFile> readMeasuredFile(const std::string& path);

} // namespace fusescope
