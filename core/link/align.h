// SPDX-License-Identifier: Apache-2.0
// Weighted longest common subsequence of operator names. Private to core/link.
#pragma once

#include <cstdint>
#include <map>
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
    std::unordered_map<std::string, std::uint32_t> known_; // by name as written
    std::unordered_map<std::string, std::uint32_t> canonical_;
    std::vector<bool> plumbing_;
};

struct TraceOp {
    std::uint32_t letter = 0;
    bool top = true; // not inside another operator of the sequence
};

// Matches keep both orders; operators that move data outweigh plumbing, outer operators outweigh their insides.
class Aligner {
public:
    // Number of a sequence of nodes (letters in execution order); equal sequences get the same number.
    [[nodiscard]] std::uint32_t sequence(std::vector<std::uint32_t> nodes);
    // For each row of ops the position in the sequence it is matched with, -1 if none.
    [[nodiscard]] const std::vector<std::int32_t>& align(const std::vector<TraceOp>& ops, std::uint32_t sequence,
                                                         const OpAlphabet& alphabet);

private:
    std::vector<std::vector<std::uint32_t>> sequences_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
    std::unordered_map<std::string, std::vector<std::int32_t>> memo_; // layers and steps repeat the same sequences
    std::uint64_t cells_ = 0; // spent so far: hostile input falls back to a scan with a window
};

} // namespace fusescope
