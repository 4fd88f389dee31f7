// SPDX-License-Identifier: Apache-2.0
#include "core/base/gzip_engine.h"

#include <zlib.h>

#include <new>

namespace fusescope {
namespace {
constexpr int kGzipOnly = 15 + 16;
}

struct GzipEngine::State {
    z_stream z{};
    bool open = inflateInit2(&z, kGzipOnly) == Z_OK;
    ~State() {
        if (open) inflateEnd(&z);
    }
};

GzipEngine::GzipEngine() : state_(new (std::nothrow) State) {
    if (state_ && !state_->open) state_.reset();
}
GzipEngine::~GzipEngine() = default;

void GzipEngine::feed(std::string_view bytes) noexcept {
    // zlib's interface is not const-correct; it does not write here.
    state_->z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); // NOLINT
    state_->z.avail_in = static_cast<uInt>(bytes.size());
}

std::string_view GzipEngine::left() const noexcept {
    return {reinterpret_cast<const char*>(state_->z.next_in), state_->z.avail_in}; // NOLINT
}

GzipEngine::Step GzipEngine::step(std::span<char> out, std::size_t& written) noexcept {
    z_stream& z = state_->z;
    z.next_out = reinterpret_cast<Bytef*>(out.data()); // NOLINT
    z.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&z, Z_NO_FLUSH);
    written += out.size() - z.avail_out;
    if (code == Z_STREAM_END) return Step::MemberEnd;
    return code == Z_OK || code == Z_BUF_ERROR ? Step::More : Step::Damaged;
}

bool GzipEngine::restart() noexcept { return inflateReset(&state_->z) == Z_OK; }

} // namespace fusescope
