// SPDX-License-Identifier: Apache-2.0
// Files for tests: where the samples and the test data are, whole files in and out, folders that vanish afterwards.
// For programs made by fusescope_core_test() and fusescope_ui_test().
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace fusescope::test {

// "qwen3-8b-2layer-eager.pt2" -> its path in resources/samples
inline std::string samplePath(std::string_view name) {
    return (std::filesystem::path(FUSESCOPE_SAMPLES_DIR) / name).string();
}

// "bad/not-zip.pt2" -> its path in tests/data
inline std::string dataPath(std::string_view name) {
    return (std::filesystem::path(FUSESCOPE_TEST_DATA_DIR) / name).string();
}

// "devices/x.json" -> its path in resources
inline std::string resourcePath(std::string_view name) {
    return (std::filesystem::path(FUSESCOPE_RESOURCES_DIR) / name).string();
}

// The bytes of a file; "" if there is none.
inline std::string readFile(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void writeFile(const std::filesystem::path& path, std::string_view bytes) {
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A new empty folder, removed with everything in it when the object goes.
class TempDir {
public:
    TempDir() {
        std::string pattern = (std::filesystem::temp_directory_path() / "fusescope-test-XXXXXX").string();
        if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
    }
    ~TempDir() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;
    TempDir(TempDir&&) = delete;
    TempDir& operator=(TempDir&&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

} // namespace fusescope::test
