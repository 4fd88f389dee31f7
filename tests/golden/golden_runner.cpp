// SPDX-License-Identifier: Apache-2.0
// Runs a program as one .case file says and compares exit status, output and written files with what the file says.
// tests/golden/README.md describes the format.
//
// golden_runner --program PROGRAM --samples FOLDER --data FOLDER --tools FOLDER CASE
// FUSESCOPE_UPDATE_GOLDEN=1 writes the exit status and the exact sections of the case anew; refused under CI.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace {

struct Contains {
    std::string where; // "stdout", "stderr" or a file the program wrote
    std::string text;
    bool wanted = true;
    int line = 0;
};

struct Lines {
    std::string where;
    long count = 0;
    int line = 0;
};

struct Exact {
    std::string where;
    std::string text;
    int line = 0;
};

struct Cut {
    std::uintmax_t bytes = 0;
    std::string from, to;
};

struct Case {
    std::vector<std::string> args;
    int exit_status = 0;
    int exit_line = -1;            // index in head
    std::vector<std::string> head; // lines before the first section, for writing the case anew
    std::vector<Contains> contains;
    std::vector<Lines> lines;
    std::vector<Exact> exact;
    std::vector<Cut> cuts;
};

struct Folders {
    std::string samples, data, tools, work;
};

[[noreturn]] void die(const std::string& message) {
    std::cerr << "golden_runner: " << message << '\n';
    std::exit(2);
}

std::string readFile(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) die("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void replaceAll(std::string& text, std::string_view from, std::string_view to) {
    if (from.empty()) return;
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

std::string expand(std::string text, const Folders& folders) {
    replaceAll(text, "${SAMPLES}", folders.samples);
    replaceAll(text, "${DATA}", folders.data);
    replaceAll(text, "${TOOLS}", folders.tools);
    replaceAll(text, "${WORK}", folders.work);
    return text;
}

// The opposite of expand(): output that names folders of this machine becomes text that is the same everywhere.
std::string generalise(std::string text, const Folders& folders) {
    replaceAll(text, folders.work, "${WORK}");
    replaceAll(text, folders.samples, "${SAMPLES}");
    replaceAll(text, folders.data, "${DATA}");
    replaceAll(text, folders.tools, "${TOOLS}");
    return text;
}

std::string trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// Words separated by blanks; "double quotes" hold blanks together.
std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out;
    std::string word;
    bool quoted = false;
    bool some = false;
    for (const char c : text) {
        if (c == '"') {
            quoted = !quoted;
            some = true;
        } else if (!quoted && (c == ' ' || c == '\t')) {
            if (some) out.push_back(std::exchange(word, {}));
            some = false;
        } else {
            word += c;
            some = true;
        }
    }
    if (quoted) die("a quote is not closed: " + std::string(text));
    if (some) out.push_back(word);
    return out;
}

std::string firstWord(const std::string& text, std::string& rest) {
    const auto blank = text.find(' ');
    rest = blank == std::string::npos ? std::string() : trim(std::string_view(text).substr(blank));
    return text.substr(0, blank);
}

long number(const std::string& text, const std::string& where) {
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0') die(where + ": expected a number, found '" + text + "'");
    return value;
}

Case parse(const fs::path& path) {
    Case result;
    std::ifstream in(path, std::ios::binary);
    if (!in) die("cannot read " + path.string());
    int number_of_line = 0;
    Exact* section = nullptr;
    for (std::string line; std::getline(in, line);) {
        ++number_of_line;
        const std::string where = path.filename().string() + ":" + std::to_string(number_of_line);
        if (line.starts_with("--- ")) {
            result.exact.push_back({trim(std::string_view(line).substr(4)), {}, number_of_line});
            section = &result.exact.back();
            continue;
        }
        if (section != nullptr) {
            section->text += line + '\n';
            continue;
        }
        result.head.push_back(line);
        if (trim(line).empty() || line.front() == '#') continue;

        const auto colon = line.find(": ");
        const std::string key = line.substr(0, colon == std::string::npos ? line.find(':') : colon);
        const std::string value =
            colon == std::string::npos ? std::string() : trim(std::string_view(line).substr(colon + 2));
        std::string rest;
        if (key == "args") {
            for (std::string& word : words(value)) result.args.push_back(std::move(word));
        } else if (key == "exit") {
            result.exit_status = static_cast<int>(number(value, where));
            result.exit_line = static_cast<int>(result.head.size()) - 1;
        } else if (key == "stdout-contains" || key == "stderr-contains") {
            result.contains.push_back({key.substr(0, 6), value, true, number_of_line});
        } else if (key == "stdout-lacks" || key == "stderr-lacks") {
            result.contains.push_back({key.substr(0, 6), value, false, number_of_line});
        } else if (key == "file-contains" || key == "file-lacks") {
            const std::string file = firstWord(value, rest);
            result.contains.push_back({file, rest, key == "file-contains", number_of_line});
        } else if (key == "stdout-lines" || key == "stderr-lines") {
            result.lines.push_back({key.substr(0, 6), number(value, where), number_of_line});
        } else if (key == "cut") {
            const std::vector<std::string> parts = words(value);
            if (parts.size() != 3) die(where + ": expected 'cut: BYTES FROM TO'");
            result.cuts.push_back({static_cast<std::uintmax_t>(number(parts[0], where)), parts[1], parts[2]});
        } else {
            die(where + ": unknown key '" + key + "'");
        }
    }
    if (result.exit_line < 0) die(path.filename().string() + ": names no exit status ('exit: N')");
    return result;
}

// The exit status, or 128 + the signal that ended the program.
int run(const std::string& program, const std::vector<std::string>& args, const fs::path& folder, const fs::path& out,
        const fs::path& err) {
    std::vector<char*> argv;
    std::vector<std::string> copies{program};
    copies.insert(copies.end(), args.begin(), args.end());
    for (std::string& copy : copies) argv.push_back(copy.data());
    argv.push_back(nullptr);

    const pid_t child = fork();
    if (child < 0) die("cannot start a process");
    if (child == 0) {
        const int in_fd = open("/dev/null", O_RDONLY);
        const int out_fd = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
        const int err_fd = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (in_fd < 0 || out_fd < 0 || err_fd < 0 || chdir(folder.c_str()) != 0) _exit(126);
        dup2(in_fd, STDIN_FILENO);
        dup2(out_fd, STDOUT_FILENO);
        dup2(err_fd, STDERR_FILENO);
        setenv("LC_ALL", "C.UTF-8", 1);
        execv(program.c_str(), argv.data());
        _exit(127);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) die("lost the process");
    if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    return WEXITSTATUS(status);
}

long countLines(const std::string& text) {
    return static_cast<long>(std::count(text.begin(), text.end(), '\n')) +
           (text.empty() || text.back() == '\n' ? 0 : 1);
}

std::string indented(const std::string& text) {
    constexpr std::size_t most = 4000;
    std::string shown = text.substr(0, most);
    if (shown.size() < text.size()) shown += "... (" + std::to_string(text.size()) + " bytes)";
    replaceAll(shown, "\n", "\n    | ");
    return "    | " + shown + '\n';
}

// A line and a column say more than two long texts.
std::string firstDifference(const std::string& expected, const std::string& found) {
    const auto at = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end()).first;
    return "line " + std::to_string(std::count(expected.begin(), at, '\n') + 1);
}

class Comparison {
public:
    Comparison(fs::path case_path, Folders folders, std::string out, std::string err)
        : case_path_(std::move(case_path)), folders_(std::move(folders)), out_(std::move(out)), err_(std::move(err)) {}

    // What came out, its last line ended: a case cannot write down a line without an end.
    std::string actual(const std::string& where) const {
        std::string text = raw(where);
        if (!text.empty() && text.back() != '\n') text += '\n';
        return text;
    }

    int failures(const Case& wanted, int status) {
        if (status != wanted.exit_status) {
            complain(wanted.exit_line + 1, "expected exit status " + std::to_string(wanted.exit_status) + ", found " +
                                               std::to_string(status));
        }
        for (const Contains& c : wanted.contains) {
            if ((actual(c.where).find(c.text) != std::string::npos) != c.wanted) {
                complain(c.line, c.where + (c.wanted ? " lacks: " : " holds: ") + c.text);
            }
        }
        for (const Lines& l : wanted.lines) {
            const long count = countLines(actual(l.where));
            if (count != l.count) {
                complain(l.line, "expected " + std::to_string(l.count) + " lines on " + l.where + ", found " +
                                     std::to_string(count));
            }
        }
        for (const Exact& e : wanted.exact) {
            const std::string found = actual(e.where);
            if (found != e.text) {
                complain(e.line, e.where + " differs first in its " + firstDifference(e.text, found) + "; expected:\n" +
                                     indented(e.text) + "  found:\n" + indented(found));
            }
        }
        if (failures_ > 0) {
            std::cout << "  stdout was:\n" << indented(out_) << "  stderr was:\n" << indented(err_);
        }
        return failures_;
    }

private:
    std::string raw(const std::string& where) const {
        if (where == "stdout") return out_;
        if (where == "stderr") return err_;
        const fs::path path = fs::path(folders_.work) / where;
        if (!fs::exists(path)) return "(the program wrote no file " + where + ")";
        return generalise(readFile(path), folders_);
    }

    void complain(int line, const std::string& message) {
        std::cout << case_path_.filename().string() << ':' << line << ": " << message << '\n';
        ++failures_;
    }

    fs::path case_path_;
    Folders folders_;
    std::string out_, err_;
    int failures_ = 0;
};

void update(const fs::path& path, Case wanted, int status, const Comparison& comparison) {
    wanted.head[static_cast<std::size_t>(wanted.exit_line)] = "exit: " + std::to_string(status);
    std::string text;
    for (const std::string& line : wanted.head) text += line + '\n';
    for (const Exact& e : wanted.exact) text += "--- " + e.where + '\n' + comparison.actual(e.where);
    if (text == readFile(path)) return;
    std::ofstream(path, std::ios::binary) << text;
    std::cout << "updated " << path.string() << '\n';
}

} // namespace

int main(int argc, char** argv) {
    std::string program;
    std::string case_name;
    Folders folders;
    for (int i = 1; i < argc; ++i) {
        const std::string_view arg = argv[i];
        const auto next = [&]() -> std::string {
            if (i + 1 >= argc) die("nothing after " + std::string(arg));
            return argv[++i];
        };
        if (arg == "--program") {
            program = next();
        } else if (arg == "--samples") {
            folders.samples = next();
        } else if (arg == "--data") {
            folders.data = next();
        } else if (arg == "--tools") {
            folders.tools = next();
        } else {
            case_name = arg;
        }
    }
    if (program.empty() || case_name.empty())
        die("usage: --program PROGRAM --samples FOLDER --data FOLDER --tools FOLDER CASE");
    if (!fs::exists(program)) die("there is no program " + program);

    const bool updating = std::getenv("FUSESCOPE_UPDATE_GOLDEN") != nullptr;
    if (updating && std::getenv("CI") != nullptr) die("FUSESCOPE_UPDATE_GOLDEN is refused where CI is set");

    const Case wanted = parse(case_name);

    std::string pattern = (fs::temp_directory_path() / "fusescope-golden-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) die("cannot make a folder below " + fs::temp_directory_path().string());
    const fs::path top = pattern;
    const fs::path work = top / "work"; // the output files lie beside it, so that the program finds an empty folder
    fs::create_directory(work);
    folders.work = work.string();

    for (const Cut& cut : wanted.cuts) {
        std::string bytes = readFile(expand(cut.from, folders));
        bytes.resize(std::min<std::uintmax_t>(bytes.size(), cut.bytes));
        std::ofstream(work / cut.to, std::ios::binary) << bytes;
    }
    std::vector<std::string> args;
    for (const std::string& arg : wanted.args) args.push_back(expand(arg, folders));

    const int status = run(program, args, work, top / "stdout", top / "stderr");
    Comparison comparison(case_name, folders, generalise(readFile(top / "stdout"), folders),
                          generalise(readFile(top / "stderr"), folders));
    int failures = 0;
    if (updating) update(case_name, wanted, status, comparison);
    failures = comparison.failures(updating ? parse(case_name) : wanted, status);

    std::error_code ignored;
    fs::remove_all(top, ignored);
    return failures == 0 ? 0 : 1;
}
