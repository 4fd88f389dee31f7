// SPDX-License-Identifier: GPL-3.0-or-later
// Preloaded in a test: prints before main() runs, as libraries do.
#include <cstdio>

namespace {
const struct Noisy {
    Noisy() {
        std::puts("this library prints when it is loaded");
        std::fflush(stdout);
    }
} noisy;
} // namespace
