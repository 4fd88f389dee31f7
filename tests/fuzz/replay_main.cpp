// SPDX-License-Identifier: Apache-2.0
// Stands in for libFuzzer in ordinary builds: feeds every file of the given folders and files to the fuzz target once.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void replay(const std::string& name, const std::vector<char>& bytes) {
    // A copy of exactly this size on the heap lets AddressSanitizer see a read past the end.
    std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
    exact.shrink_to_fit();
    std::printf("%s (%zu bytes)\n", name.c_str(), exact.size());
    std::fflush(stdout); // the last line printed names the input that ended the process
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

} // namespace

int main(int argc, char** argv) {
    namespace fs = std::filesystem;
    std::vector<fs::path> files;
    for (int i = 1; i < argc; ++i) {
        const fs::path path = argv[i];
        if (fs::is_directory(path)) {
            for (const auto& entry : fs::recursive_directory_iterator(path)) {
                if (entry.is_regular_file()) {
                    files.push_back(entry.path());
                }
            }
        } else if (fs::is_regular_file(path)) {
            files.push_back(path);
        } else {
            std::fprintf(stderr, "%s: expected a file or a folder of inputs, found neither\n", argv[i]);
            return 1;
        }
    }
    if (files.empty()) {
        std::fprintf(stderr, "no input to replay: give at least one file or a folder that holds files\n");
        return 1;
    }
    std::sort(files.begin(), files.end());

    replay("no bytes at all", {});
    for (const fs::path& file : files) {
        std::ifstream in(file, std::ios::binary);
        replay(file.string(), std::vector<char>(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
    }
    std::printf("%zu inputs replayed\n", files.size() + 1);
    return 0;
}
