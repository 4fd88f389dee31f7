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

std::string onPath(const std::string& program) {
    const char* path = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    std::string_view left = path == nullptr ? "" : path;
    while (!left.empty()) {
        const std::size_t end = left.find(':');
        const std::string_view folder = left.substr(0, end);
        left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
        if (folder.empty()) continue;
        std::string file = std::string(folder) + "/" + program;
        struct stat info {};
        if (stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(file.c_str(), X_OK) == 0) return file;
    }
    return {};
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
    if (std::string beside = siblingProgram(kProgram); !beside.empty())
        return RunnerCommand{{std::move(beside)}, "beside this program"};
    if (std::string found = onPath(kProgram); !found.empty()) return RunnerCommand{{std::move(found)}, "on PATH"};
    return Error{
        ErrorCode::NotFound,
        "fusescope-runner beside this program or on PATH, or a command that starts one (--runner, the setting or "
        "FUSESCOPE_RUNNER; \"ssh gpu-box fusescope-runner\" does, too)",
        "none; ./dev kernels builds one into build/kernels/bin", ""};
}

} // namespace fusescope
