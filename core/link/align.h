// SPDX-License-Identifier: Apache-2.0
// Weighted longest common subsequence of operator names. Private to core/link.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fusescope {

// Numbers for canonical operator names, shared by both sides. Weight 0: not worth matching.
class OpAlphabet {
public:
    [[nodiscard]] std::uint32_t of(std::string_view op);
    [[nodiscard]] bool plumbing(std::uint32_t letter) const { return plumbing_[letter]; }

private:
    std::unordered_map<std::string, std::uint32_t> known_;    // by name as written
    std::unordered_map<std::string, std::uint32_t> canonical_;
    std::vector<bool> plumbing_;
};

struct TraceOp {
    std::uint32_t letter = 0;
    bool top = true; // not inside another operator of the sequence
};

// For each row of ops the index into nodes it is matched with, -1 if none. Matches keep both orders; operators that move
// data outweigh plumbing, outer operators outweigh their insides.
class Aligner {
public:
    [[nodiscard]] const std::vector<std::int32_t> &align(const std::vector<TraceOp> &ops,
                                                         const std::vector<std::uint32_t> &nodes, const OpAlphabet &alphabet);

private:
    std::unordered_map<std::string, std::vector<std::int32_t>> memo_; // layers and steps repeat the same sequences
    std::uint64_t cells_ = 0; // spent so far: hostile input falls back to a scan with a window
};

} // namespace fusescope
