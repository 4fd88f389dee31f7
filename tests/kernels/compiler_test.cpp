// SPDX-License-Identifier: Apache-2.0
#include "kernels/pointwise_chain/compiler.h"

#include <gmock/gmock.h>

namespace fusescope::kernels::chain {
namespace {

using testing::ElementsAre;

TEST(CompilerLibraries, OfNoNewerCudaThanTheDriver) {
    EXPECT_THAT(compilerLibraries(13000), ElementsAre("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"));
    EXPECT_THAT(compilerLibraries(14010), ElementsAre("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"));
    EXPECT_THAT(compilerLibraries(12080), ElementsAre("libnvrtc.so.12", "libnvrtc.so"));
}

TEST(CompilerLibraries, AnyWithoutADriver) {
    EXPECT_THAT(compilerLibraries(0), ElementsAre("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"));
}

} // namespace
} // namespace fusescope::kernels::chain
