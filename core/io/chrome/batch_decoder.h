// SPDX-License-Identifier: Apache-2.0
// A piece of the events' array into rows. The piece may begin anywhere between two events and end anywhere at all.
#pragma once

#include "core/base/progress.h"
#include "core/io/chrome/decoded.h"
#include "core/io/chrome/json_index.h"

#include <cstdint>
#include <string_view>

namespace fusescope::chrome {

class BatchDecoder {
public:
    // progress: asked now and then for the wish to stop; what is decoded then is not all there.
    explicit BatchDecoder(const Progress& progress) : progress_(progress) {}
    // last: no more text follows, so an event that is not all there is either damaged (others follow it) or the cut end
    // of the file (Decoded::End::Cut).
    [[nodiscard]] Decoded decode(std::string_view text, std::uint64_t offset, bool last);

private:
    const Progress& progress_;
    JsonIndex index_; // keeps its memory from batch to batch
};

} // namespace fusescope::chrome
