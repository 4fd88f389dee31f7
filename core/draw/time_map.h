// SPDX-License-Identifier: Apache-2.0
// Recorded times to times in a picture that is not as recorded: monotone, piecewise linear, O(log knots) a look-up.
#pragma once

#include <cstdint>
#include <vector>

namespace fusescope {

class TimeMap {
public:
    struct Knot {
        std::int64_t from = 0, to = 0; // ns: recorded, shown
    };

    // Knots come in order. One that would go back in either time is moved to where the last one is.
    void add(std::int64_t from, std::int64_t to);
    [[nodiscard]] const std::vector<Knot>& knots() const noexcept { return knots_; }

    // Times before the first knot and after the last one keep their distance to it. Where two knots share a recorded
    // time, what begins there lies at the later one and what ends there at the earlier one.
    [[nodiscard]] std::int64_t at(std::int64_t t) const noexcept;
    [[nodiscard]] std::int64_t endAt(std::int64_t t) const noexcept;
    // The recorded time behind a shown one; of several the latest.
    [[nodiscard]] std::int64_t back(std::int64_t t) const noexcept;

private:
    std::vector<Knot> knots_;
};

} // namespace fusescope
