// SPDX-License-Identifier: Apache-2.0
// Small traces as text, read from memory.
#pragma once

#include "core/io/chrome/reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace fusescope::testing {

inline TracePtr read(std::string_view text) {
    auto trace = readKinetoText(text);
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message());
    return trace.ok() ? *trace : std::make_shared<const TraceStore>();
}
// Events inside the usual object.
inline TracePtr readEvents(const std::string& events) { return read("{\"traceEvents\":[" + events + "]}"); }

inline std::uint64_t countOf(const TraceStore& trace, std::string_view kind) {
    for (const Problem& p : trace.problems)
        if (p.kind == kind) return p.count;
    return 0;
}
// Row of the first slice of that name, or npos.
inline std::size_t rowOf(const TraceStore& trace, std::string_view name) {
    for (std::size_t row = 0; row < trace.slices.size(); ++row)
        if (trace.nameOf(SliceId(row)) == name) return row;
    return static_cast<std::size_t>(-1);
}
inline const std::string kGood =
    R"({"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":1,"dur":2,"args":{"External id":3}})";
// A kernel on stream 7 with extra fields.
inline std::string kernel(const std::string& name, const std::string& fields, const std::string& args = "") {
    return R"({"ph":"X","cat":"kernel","name":")" + name + R"(","pid":0,"tid":7,)" + fields +
           R"(,"args":{"device":0,"stream":7)" + (args.empty() ? "" : "," + args) + "}}";
}

} // namespace fusescope::testing
