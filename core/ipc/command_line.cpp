// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/command_line.h"

#include "core/ipc/child_process.h"

#include <unistd.h>

#include <cstdlib>
#include <sys/stat.h>
#include <utility>

namespace fusescope {
namespace {

constexpr const char* kProgram = "fusescope-runner";

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool isProgram(const std::string& file) {
    struct stat info {};
    return stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(file.c_str(), X_OK) == 0;
}

// Of a folder "/x/build/dev/bin", "/x/build"; "" of any other.
std::string_view buildFolder(std::string_view folder) {
    constexpr std::string_view kBin = "/bin", kBuild = "/build";
    if (!folder.ends_with(kBin)) return {};
    folder.remove_suffix(kBin.size());
    const std::size_t slash = folder.rfind('/');
    if (slash == std::string_view::npos || slash + 1 == folder.size()) return {};
    folder = folder.substr(0, slash);
    return folder.ends_with(kBuild) ? folder : std::string_view();
}

} // namespace

Result<std::vector<std::string>> splitCommandLine(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    bool some = false;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\0') return Error{ErrorCode::Unsupported, "a command", "a NUL byte in it", "command"};
        if (quote == '\'') {
            if (c == '\'')
                quote = 0;
            else
                word += c;
        } else if (c == '\\' && i + 1 < text.size() &&
                   (quote == 0 || text[i + 1] == '"' || text[i + 1] == '\\' || text[i + 1] == '$' ||
                    text[i + 1] == '`')) {
            word += text[++i];
            some = true;
        } else if (quote == '"') {
            if (c == '"')
                quote = 0;
            else
                word += c;
        } else if (c == '\'' || c == '"') {
            quote = c;
            some = true;
        } else if (isBlank(c)) {
            if (some) words.push_back(std::exchange(word, {}));
            some = false;
        } else {
            word += c;
            some = true;
        }
    }
    if (quote != 0)
        return Error{ErrorCode::WrongFormat, std::string("a closing ") + quote + " in the command",
                     "'" + std::string(text.substr(0, 200)) + "'", ""};
    if (some) words.push_back(std::move(word));
    if (words.empty()) return Error{ErrorCode::Empty, "a command", "no word", ""};
    return words;
}

std::string joinCommandLine(const std::vector<std::string>& words) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%^";
    std::string text;
    for (const std::string& word : words) {
        if (!text.empty()) text += ' ';
        if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
            text += word;
            continue;
        }
        text += '\'';
        for (const char c : word) {
            if (c == '\'')
                text += "'\\''";
            else
                text += c;
        }
        text += '\'';
    }
    return text;
}

std::vector<RunnerPlace> runnerPlaces(std::string_view program_folder, std::string_view path) {
    const std::string program = std::string("/") + kProgram;
    std::vector<RunnerPlace> places;
    if (!program_folder.empty()) places.push_back({std::string(program_folder) + program, "beside this program"});
    if (const std::string_view build = buildFolder(program_folder); !build.empty())
        places.push_back({std::string(build) + "/kernels/bin" + program, "built in this source tree"});
    while (!path.empty()) {
        const std::size_t end = path.find(':');
        const std::string_view folder = path.substr(0, end);
        path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
        if (!folder.empty()) places.push_back({std::string(folder) + program, "on PATH"});
    }
    return places;
}

Result<RunnerCommand> findRunner(std::string_view asked) {
    const char* variable = std::getenv("FUSESCOPE_RUNNER"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    const bool by_variable = asked.empty() && variable != nullptr && *variable != '\0';
    if (!asked.empty() || by_variable) {
        auto words = splitCommandLine(by_variable ? std::string_view(variable) : asked);
        if (!words) {
            words.error().where = by_variable ? "FUSESCOPE_RUNNER" : "runner";
            return std::move(words).error();
        }
        return RunnerCommand{std::move(*words), by_variable ? "FUSESCOPE_RUNNER" : "the option"};
    }
    const char* path = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    for (RunnerPlace& place : runnerPlaces(programFolder(), path == nullptr ? "" : path))
        if (isProgram(place.file)) return RunnerCommand{{std::move(place.file)}, place.origin};
    return Error{ErrorCode::NotFound,
                 "fusescope-runner beside this program, in build/kernels/bin of its source tree or on PATH, or a "
                 "command that starts one (--runner, the setting or "
                 "FUSESCOPE_RUNNER; \"ssh gpu-box fusescope-runner\" does, too)",
                 "none; ./dev kernels builds one into build/kernels/bin", ""};
}

} // namespace fusescope
