// SPDX-License-Identifier: Apache-2.0
#include "core/base/memory_guard.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

TEST(MemoryGuard, SaysWhatWasDoneWhenItRanOut) {
    Progress progress;
    progress.begin("reading events");
    const auto out = guardedByMemory("a.json", progress, []() -> Result<int> { throw std::bad_alloc(); });
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code, ErrorCode::Limit);
    EXPECT_EQ(out.error().message(), "a.json: expected enough memory, found out of memory while reading events");
    const auto threads = guardedByMemory("a.json", progress, []() -> Result<int> {
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    });
    EXPECT_NE(threads.error().message().find("out of threads"), std::string::npos);
    EXPECT_EQ(*guardedByMemory("", progress, []() -> Result<int> { return 7; }), 7);
}

} // namespace
} // namespace fusescope
