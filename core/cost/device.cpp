// SPDX-License-Identifier: Apache-2.0
// Names are compared as words in lower case, vendor words left out: "NVIDIA A100-SXM4-80GB" -> "a100 sxm4 80gb". A name
// that is no alias takes the preset with the longest alias inside it ("NVIDIA H200 NVL" -> H200).
#include "core/cost/device.h"

#include "core/cost/device_json.h"
#include "embedded/devices.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

namespace fusescope {
namespace {

using Words = std::vector<std::string>;

Words wordsOf(std::string_view name) {
    Words words;
    std::string word;
    const auto end = [&] {
        const bool vendor =
            word == "nvidia" || word == "amd" || word == "geforce" || word == "instinct" || word == "tesla";
        if (!word.empty() && !vendor) words.push_back(word);
        word.clear();
    };
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else
            end();
    }
    end();
    return words;
}

struct Presets {
    std::vector<DeviceSpec> specs;
    std::vector<std::pair<Words, std::size_t>> aliases;
};

const Presets& presets() {
    static const Presets all = [] {
        Presets out;
        for (const devices::EmbeddedFile& file : devices::embeddedFiles()) {
            const Result<DeviceFile> parsed = parseDeviceJson(file.bytes, file.path);
            if (!parsed) continue; // a test reads every preset
            out.aliases.emplace_back(wordsOf(parsed->spec.name), out.specs.size());
            for (const std::string& alias : parsed->aliases) out.aliases.emplace_back(wordsOf(alias), out.specs.size());
            out.specs.push_back(parsed->spec);
        }
        return out;
    }();
    return all;
}

// The preset for a name; null if none fits.
const DeviceSpec* presetOf(std::string_view name) {
    const Words words = wordsOf(name);
    // A slice of a GPU has neither its bandwidth nor its multiprocessors.
    if (words.empty() || std::find(words.begin(), words.end(), "mig") != words.end()) return nullptr;
    const DeviceSpec* best = nullptr;
    std::size_t longest = 0;
    for (const auto& [alias, index] : presets().aliases) {
        if (alias == words) return &presets().specs[index];
        if (alias.size() > longest &&
            std::search(words.begin(), words.end(), alias.begin(), alias.end()) != words.end()) {
            longest = alias.size();
            best = &presets().specs[index];
        }
    }
    return best;
}

Result<DeviceSpec> readDeviceFile(const std::string& path) {
    constexpr std::uintmax_t kMaxBytes = 1 << 20;
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error) return Error{ErrorCode::Unreadable, "a device description", error.message(), path};
    if (size > kMaxBytes)
        return Error{ErrorCode::Limit, "a device description of at most 1 MiB", "a larger file", path};
    std::ifstream in(path, std::ios::binary);
    std::string text(static_cast<std::size_t>(size), '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!in && !text.empty())
        return Error{ErrorCode::Unreadable, "a device description", "a file that cannot be read", path};
    Result<DeviceFile> file = parseDeviceJson(text, path);
    if (!file) return file.error();
    DeviceSpec& spec = file->spec;
    if (spec.source == DeviceSource::Calibrated) {
        spec.origin = path;
        const DeviceSpec* preset = presetOf(spec.name);
        if (preset != nullptr && spec.fused.empty()) spec.fused = preset->fused; // a calibration measures none
    }
    return std::move(spec);
}

// The newest calibration of that GPU in the folder.
std::optional<DeviceSpec> calibrationOf(const std::string& name, const std::string& folder) {
    namespace fs = std::filesystem;
    constexpr int kMostFiles = 1000;
    std::optional<DeviceSpec> found;
    fs::file_time_type newest;
    std::error_code error;
    int files = 0;
    for (fs::directory_iterator at(folder, error), end; !error && at != end && files < kMostFiles;
         at.increment(error)) {
        std::error_code ignored;
        if (at->path().extension() != ".json" || !at->is_regular_file(ignored)) continue;
        ++files;
        Result<DeviceSpec> spec = readDeviceFile(at->path().string());
        if (!spec || spec->source != DeviceSource::Calibrated || wordsOf(spec->name) != wordsOf(name)) continue;
        const fs::file_time_type written = fs::last_write_time(at->path(), ignored);
        if (found && written <= newest) continue;
        newest = written;
        found = std::move(*spec);
    }
    return found;
}

// The GPU that most kernels of the trace ran on.
std::int32_t busiestDevice(const TraceStore& trace) {
    std::map<std::int32_t, std::size_t> kernels;
    for (const std::int32_t device : trace.kernels.device) ++kernels[device];
    std::int32_t busiest = -1;
    std::size_t most = 0;
    for (const auto& [device, count] : kernels)
        if (count > most) {
            most = count;
            busiest = device;
        }
    return busiest;
}

} // namespace

const std::vector<DeviceSpec>& devicePresets() { return presets().specs; }

const DeviceSpec* presetByName(std::string_view name) { return presetOf(name); }

Result<DeviceSpec> deviceByName(std::string_view name_or_path) {
    const std::string path(name_or_path);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return readDeviceFile(path);
    if (const DeviceSpec* preset = presetOf(name_or_path)) return *preset;
    if (std::filesystem::exists(path, ignored))
        return Error{ErrorCode::WrongFormat, "a device name or a JSON file",
                     std::filesystem::is_directory(path, ignored) ? "a folder" : "a device or pipe, not a file", path};
    if (path.find('/') != std::string::npos || path.ends_with(".json"))
        return Error{ErrorCode::NotFound, "a device name or a JSON file", "no such file", path};
    std::string known;
    for (const DeviceSpec& spec : devicePresets()) known += (known.empty() ? "" : ", ") + spec.name;
    return Error{ErrorCode::NotFound, "one of " + known + ", or a JSON file", "'" + path + "'", "device"};
}

bool sameDevice(const DeviceSpec& a, const DeviceSpec& b) {
    if (a.name == b.name) return true;
    const DeviceSpec* preset = presetOf(a.name);
    return preset != nullptr && preset == presetOf(b.name);
}

DeviceSpec deviceOfTrace(const TraceStore& trace, const std::string& calibrations) {
    const std::int32_t busiest = busiestDevice(trace);
    const TraceDevice* device = trace.devices.empty() ? nullptr : &trace.devices.front();
    for (const TraceDevice& candidate : trace.devices)
        if (candidate.id == busiest) device = &candidate;
    if (device != nullptr && !calibrations.empty())
        if (auto calibrated = calibrationOf(device->name, calibrations)) return *std::move(calibrated);
    if (device != nullptr)
        if (const DeviceSpec* preset = presetOf(device->name)) {
            DeviceSpec spec = *preset;
            spec.source = DeviceSource::Trace;
            if (device->sms > 0) spec.sms = device->sms;
            return spec;
        }
    DeviceSpec spec;
    if (const DeviceSpec* stand_in = presetOf("H100")) spec = *stand_in;
    spec.source = DeviceSource::Assumed;
    return spec;
}

} // namespace fusescope
