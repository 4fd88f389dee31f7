// SPDX-License-Identifier: Apache-2.0
#include "core/io/pt2/pt2_archive.h"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace fusescope::pt2 {
namespace {

constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxEntryBytes = std::uint64_t{1} << 30;
// Graph JSON repeats itself: 40 to 80 times smaller when packed. A zip bomb reaches 1000.
constexpr std::uint64_t kMaxRatio = 500;
constexpr std::uint64_t kRatioFrom = 4u << 20; // small entries may be packed as tightly as they like
constexpr std::size_t kMaxNameLength = 4096;

std::string textOf(zip_error_t& error) { return zip_error_strerror(&error); }

Error notAZip(const std::string& where, int code, int system_error) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string found;
    ErrorCode kind = ErrorCode::WrongFormat;
    if (code == ZIP_ER_NOENT) {
        kind = ErrorCode::NotFound;
        found = "no such file";
    } else if (code == ZIP_ER_OPEN || code == ZIP_ER_READ || code == ZIP_ER_SEEK) {
        kind = ErrorCode::Unreadable;
        found = "a file that cannot be read (" + std::generic_category().message(system_error) + ")";
    } else if (code == ZIP_ER_NOZIP) {
        found = "a file that is not a ZIP archive, or one cut off at its end";
    } else {
        kind = ErrorCode::Damaged;
        found = "a damaged ZIP archive (" + textOf(error) + ")";
    }
    zip_error_fini(&error);
    return Error{kind, "a torch.export archive (ZIP with models/*.json)", std::move(found), where};
}

} // namespace

struct Archive::Handle {
    zip_t* zip = nullptr;
};

void Archive::Close::operator()(Handle* handle) const noexcept {
    if (handle->zip) zip_discard(handle->zip);
    delete handle;
}

Result<Archive> Archive::open(const std::string& path) {
    std::unique_ptr<Handle, Close> handle(new Handle);
    int code = ZIP_ER_OK;
    errno = 0;
    handle->zip = zip_open(path.c_str(), ZIP_RDONLY, &code);
    if (!handle->zip) return notAZip(path, code, errno);
    return list(std::move(handle), path);
}

Result<Archive> Archive::openMemory(std::string_view bytes, std::string where) {
    std::unique_ptr<Handle, Close> handle(new Handle);
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source) {
        handle->zip = zip_open_from_source(source, ZIP_RDONLY, &error);
        if (!handle->zip) zip_source_free(source);
    }
    const int code = zip_error_code_zip(&error);
    const int system_error = zip_error_code_system(&error);
    zip_error_fini(&error);
    if (!handle->zip) return notAZip(where, code, system_error);
    return list(std::move(handle), std::move(where));
}

Result<Archive> Archive::list(std::unique_ptr<Handle, Close> handle, std::string where) {
    Archive archive;
    archive.where_ = std::move(where);
    const zip_int64_t count = zip_get_num_entries(handle->zip, 0);
    if (count < 0 || static_cast<std::uint64_t>(count) > kMaxEntries)
        return Error{ErrorCode::Limit, "an archive of at most a million entries", "a longer list", archive.where_};
    std::string root;
    for (zip_int64_t i = 0; i < count; ++i) {
        zip_stat_t stat;
        zip_stat_init(&stat);
        if (zip_stat_index(handle->zip, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW, &stat) != 0) continue;
        if (!(stat.valid & ZIP_STAT_NAME) || !(stat.valid & ZIP_STAT_SIZE) || !stat.name) continue;
        Entry entry;
        entry.name = stat.name;
        if (entry.name.size() > kMaxNameLength) continue; // nothing we look for
        entry.index = static_cast<std::uint64_t>(i);
        entry.size = stat.size;
        entry.compressed_size = (stat.valid & ZIP_STAT_COMP_SIZE) ? stat.comp_size : stat.size;
        archive.entries_.push_back(std::move(entry));
    }
    // torch.save puts everything below one folder named after the file; torch before 2.8 did not.
    if (!archive.entries_.empty()) {
        const std::string& first = archive.entries_.front().name;
        root = first.substr(0, first.find('/') + 1);
        const auto below = [&](const Entry& e) { return e.name.compare(0, root.size(), root) == 0; };
        if (!root.empty() && root != "models/" && root != "data/" &&
            std::all_of(archive.entries_.begin(), archive.entries_.end(), below))
            for (Entry& entry : archive.entries_) entry.name.erase(0, root.size());
    }
    archive.handle_ = std::move(handle);
    return archive;
}

const Entry* Archive::find(std::string_view name) const {
    const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
    return at == entries_.end() ? nullptr : &*at;
}

Result<PaddedText> Archive::read(const Entry& entry) const {
    const std::string at = where_ + ": " + entry.name;
    if (entry.size > kMaxEntryBytes)
        return Error{ErrorCode::Limit, "a graph of at most 1 GiB", std::to_string(entry.size) + " bytes", at};
    if (entry.size > kRatioFrom && entry.size / kMaxRatio > entry.compressed_size)
        return Error{ErrorCode::Limit, "an entry packed at most 500 to 1",
                     std::to_string(entry.compressed_size) + " bytes that unpack to " + std::to_string(entry.size), at};
    zip_file_t* file = zip_fopen_index(handle_->zip, entry.index, 0);
    if (!file)
        return Error{ErrorCode::Damaged, "a stored or deflated entry",
                     "one that cannot be opened (" + std::string(zip_strerror(handle_->zip)) + ")", at};
    PaddedText text;
    // Grow as bytes arrive: the size in the directory is only a claim.
    constexpr std::size_t kChunk = std::size_t{1} << 20;
    std::size_t filled = 0;
    bool damaged = false;
    while (filled < entry.size) {
        const std::size_t want = std::min<std::size_t>(kChunk, static_cast<std::size_t>(entry.size) - filled);
        text.bytes.resize(filled + want);
        const zip_int64_t got = zip_fread(file, text.bytes.data() + filled, want);
        if (got <= 0) {
            damaged = true;
            break;
        }
        filled += static_cast<std::size_t>(got);
    }
    if (!damaged) {
        // libzip checks the CRC when it meets the end.
        char extra = 0;
        damaged = zip_fread(file, &extra, 1) < 0;
    }
    std::string reason = damaged ? std::string(zip_file_strerror(file)) : std::string();
    zip_fclose(file);
    if (damaged)
        return Error{ErrorCode::Damaged, "an entry of " + std::to_string(entry.size) + " bytes",
                     "damaged data after " + std::to_string(filled) + " bytes (" + reason + ")", at};
    text.size = filled;
    text.bytes.resize(filled + kPadding, '\0');
    return text;
}

std::string Archive::describe() const {
    const auto has = [&](std::string_view name) { return find(name) != nullptr; };
    const auto any = [&](std::string_view prefix) {
        return std::any_of(entries_.begin(), entries_.end(),
                           [&](const Entry& e) { return e.name.compare(0, prefix.size(), prefix) == 0; });
    };
    if (entries_.empty()) return "an empty ZIP archive";
    if (has("constants.pkl")) return "a ZIP archive holding a TorchScript module (constants.pkl)";
    if (has("bytecode.pkl")) return "a ZIP archive holding a TorchScript module for mobile (bytecode.pkl)";
    if (has("data.pkl")) return "a ZIP archive written by torch.save (data.pkl): weights, no graph";
    if (any("data/aotinductor/")) return "a package of compiled code only (data/aotinductor), without its graph";
    return "a ZIP archive of " + std::to_string(entries_.size()) + (entries_.size() == 1 ? " entry" : " entries") +
           " without it (the first is " + entries_.front().name.substr(0, 80) + ")";
}

} // namespace fusescope::pt2
