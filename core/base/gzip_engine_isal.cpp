// SPDX-License-Identifier: Apache-2.0
#include "core/base/gzip_engine.h"

#include <isa-l/igzip_lib.h>

#include <cstdint>
#include <new>

namespace fusescope {

struct GzipEngine::State {
    inflate_state z;
};

GzipEngine::GzipEngine() : state_(new (std::nothrow) State) {
    if (!state_) return;
    isal_inflate_init(&state_->z);
    state_->z.crc_flag = ISAL_GZIP;
    feed({});
}
GzipEngine::~GzipEngine() = default;

void GzipEngine::feed(std::string_view bytes) noexcept {
    // ISA-L's interface is not const-correct; it does not write here.
    state_->z.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data())); // NOLINT
    state_->z.avail_in = static_cast<std::uint32_t>(bytes.size());
}

std::string_view GzipEngine::left() const noexcept {
    return {reinterpret_cast<const char*>(state_->z.next_in), state_->z.avail_in}; // NOLINT
}

GzipEngine::Step GzipEngine::step(std::span<char> out, std::size_t& written) noexcept {
    inflate_state& z = state_->z;
    z.next_out = reinterpret_cast<std::uint8_t*>(out.data()); // NOLINT
    z.avail_out = static_cast<std::uint32_t>(out.size());
    const int code = isal_inflate(&z);
    written += out.size() - z.avail_out;
    if (code < 0 || code == ISAL_NEED_DICT) return Step::Damaged;
    return z.block_state == ISAL_BLOCK_FINISH ? Step::MemberEnd : Step::More;
}

bool GzipEngine::restart() noexcept {
    isal_inflate_reset(&state_->z); // keeps what is left of the input, and the kind
    state_->z.crc_flag = ISAL_GZIP;
    return true;
}

} // namespace fusescope
