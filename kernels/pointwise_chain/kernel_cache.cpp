// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/kernel_cache.h"

#include "kernels/common/error.h"
#include "kernels/pointwise_chain/compiler.h"
#include "kernels/pointwise_chain/disk_cache.h"
#include "kernels/pointwise_chain/source.h"

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace fusescope::kernels::chain {
namespace {

struct Entry {
    std::mutex mutex;
    cudaKernel_t kernel = nullptr;
};

std::mutex mutex;

/// Stays until the process ends, as the entries do: threads may still compile when statics are destroyed.
std::optional<std::string>& givenFolder() {
    static auto& folder = *new std::optional<std::string>;
    return folder;
}

std::string folder() {
    std::lock_guard lock(mutex);
    return givenFolder() ? *givenFolder() : defaultCacheFolder();
}

std::shared_ptr<Entry> entryOf(const std::string& key) {
    static auto& entries = *new std::unordered_map<std::string, std::shared_ptr<Entry>>;
    std::lock_guard lock(mutex);
    std::shared_ptr<Entry>& entry = entries[key];
    if (!entry) entry = std::make_shared<Entry>();
    return entry;
}

/// Loads machine code for every device (each gets it at the kernel's first launch there). It is never unloaded: a
/// kernel may still be running.
FsStatus loadCode(const std::string& code, cudaKernel_t& kernel) {
    cudaLibrary_t library = nullptr;
    cudaKernel_t found = nullptr;
    cudaError_t error = cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (FsStatus s = check(error, "cudaLibraryLoadData"); s != FS_OK) return s;
    if (FsStatus s = check(cudaLibraryGetKernel(&found, library, kernelName), "cudaLibraryGetKernel"); s != FS_OK)
        return s;
    kernel = found;
    return FS_OK;
}

FsStatus readOrCompile(const std::string& source, int computeCapability, bool mayRead, std::string& code) {
    std::string identity;
    if (FsStatus s = compilerFor(computeCapability, identity); s != FS_OK) return s;
    const DiskCache disk(folder());
    const std::string key = identity + '\n' + source;
    if (mayRead && disk.read(key, code)) return FS_OK;
    if (FsStatus s = compileSource(source, computeCapability, code); s != FS_OK) return s;
    disk.write(key, code);
    return FS_OK;
}

} // namespace

void setCacheFolder(const char* folder) {
    std::lock_guard lock(mutex);
    if (folder)
        givenFolder() = folder;
    else
        givenFolder().reset();
}

FsStatus codeFor(const std::string& source, int computeCapability, std::string& code) {
    return readOrCompile(source, computeCapability, true, code);
}

FsStatus kernelFor(const std::string& source, int computeCapability, cudaKernel_t& kernel) {
    const std::shared_ptr<Entry> entry = entryOf(std::to_string(computeCapability) + '\n' + source);
    std::lock_guard lock(entry->mutex);
    if (!entry->kernel) {
        std::string code;
        if (FsStatus s = readOrCompile(source, computeCapability, true, code); s != FS_OK) return s;
        if (loadCode(code, entry->kernel) != FS_OK) { // a driver may refuse what was compiled for another
            beginCall();
            if (FsStatus s = readOrCompile(source, computeCapability, false, code); s != FS_OK) return s;
            if (FsStatus s = loadCode(code, entry->kernel); s != FS_OK) return s;
        }
    }
    kernel = entry->kernel;
    return FS_OK;
}

} // namespace fusescope::kernels::chain
