// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command_names.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

namespace fusescope::cli {
namespace {

// How many letters have to be inserted, removed or exchanged to make one word of the other (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t exchanged = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, exchanged}));
        }
    }
    return row[b.size()];
}

// Empty: none is like it.
std::string nearest(const std::vector<std::string>& commands, std::string_view found) {
    constexpr std::size_t kLongest = 40; // more is no slip of the keys
    if (found.size() > kLongest) return {};
    std::string best;
    std::size_t least = std::max<std::size_t>(1, found.size() / 3) + 1;
    for (const std::string& command : commands) {
        const bool begun = found.size() >= 2 && command.starts_with(found);
        const std::size_t away = begun ? 1 : distance(command, found);
        if (away >= least) continue;
        least = away;
        best = command;
    }
    return best;
}

} // namespace

std::string noSuchCommand(const std::vector<std::string>& commands, std::string_view found) {
    std::string text = "expected a command, ";
    for (std::size_t i = 0; i < commands.size(); ++i)
        text += (i == 0 ? "" : i + 1 == commands.size() ? " or " : ", ") + commands[i];
    text += " (--help lists them), found ";
    if (found.empty()) return text + "none";
    text += "'" + std::string(found.substr(0, 200)) + "'";
    std::error_code ignored;
    if (std::filesystem::is_regular_file(std::string(found), ignored)) return text + ", a file: a command stands first";
    const std::string like = nearest(commands, found);
    return like.empty() ? text : text + "; the nearest is " + like;
}

} // namespace fusescope::cli
