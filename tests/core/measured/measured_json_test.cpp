// SPDX-License-Identifier: Apache-2.0
#include "core/measured/measured_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fusescope {
namespace {

using testing::HasSubstr;

// As a runner says it, in a file as a session has it.
std::string file(const std::string& schema, const std::string& entry) {
    return "{\"schema\":\"" + schema + "\",\"inputs\":[],\"measured\":[" + entry + "]}";
}
const std::string kEntry = R"({"finding":"rms_norm","instance_class":"rms_norm/bf16/4096","shape":"4096x4096 bf16",
 "runner":"ssh box fusescope-runner","versions":"torch 2.11.0","note":"","when_s":1764460800,"fused_bytes":67108864,
 "fused_backward_bytes":100663296,"fused_flops":0,"fused_backward_flops":0,
 "answer":{"id":1,"ev":"result","kind":"fuse","result":{"region":"rms_norm","pattern":"rms_norm","device":"NVIDIA H200",
  "on_gpu":true,"copy_Bps":4.2e12,"directions":[{"direction":"forward","baseline":{"us":{"median":90,"p10":89,"p90":91}},
  "fused":{"us":{"median":20,"p10":19.5,"p90":20.5}},"fused_name":"fusescope::rms_norm"}]}}})";

TEST(MeasuredJson, ReadsSessionsAndWhatFuseWrote) {
    for (const char* schema : {"fusescope.session/1", "fusescope.fuse/1"}) {
        const Result<MeasuredSet> set = readMeasured(file(schema, kEntry), "r.json");
        ASSERT_TRUE(set) << set.error().message();
        const MeasuredResult* m = set->find("rms_norm", "rms_norm/bf16/4096");
        ASSERT_NE(m, nullptr);
        EXPECT_EQ(m->when_s, 1764460800);
        EXPECT_EQ(m->fused_bytes, 67108864);
        EXPECT_EQ(m->runner, "ssh box fusescope-runner");
        ASSERT_EQ(m->result.directions.size(), 1u);
        EXPECT_TRUE(m->result.directions[0].has_fused);
        EXPECT_EQ(m->result.directions[0].fused.us.p90, 20.5);
    }
}

TEST(MeasuredJson, WhatIsWrittenReadsBack) {
    const MeasuredSet set = *readMeasured(file("fusescope.fuse/1", kEntry), "r.json");
    for (const int indent : {0, 1}) {
        JsonWriter json(indent);
        json.beginObject().member("schema", "fusescope.fuse/1").key("measured");
        writeMeasured(json, set);
        json.endObject();
        const Result<MeasuredSet> again = readMeasured(json.text(), "r.json");
        ASSERT_TRUE(again) << again.error().message();
        const MeasuredResult &a = set.results().begin()->second, &b = again->results().begin()->second;
        EXPECT_EQ(*encodeAnswer({1, RunnerResult(a.result)}), *encodeAnswer({1, RunnerResult(b.result)}));
        EXPECT_EQ(a.versions, b.versions);
    }
}

TEST(MeasuredJson, WhatItIsNotIsSaid) {
    const auto problem = [](const std::string& text) {
        const Result<MeasuredSet> set = readMeasured(text, "r.json");
        return set ? std::string() : set.error().message();
    };
    EXPECT_EQ(problem(file("fusescope.fuse/1", "")), "");
    EXPECT_THAT(problem(""), HasSubstr("no JSON object"));
    EXPECT_THAT(problem("[]"), HasSubstr("no JSON object"));
    EXPECT_THAT(problem(file("fusescope.analysis/1", "")), HasSubstr("'fusescope.analysis/1'"));
    EXPECT_THAT(problem(R"({"schema":"fusescope.fuse/1"})"), HasSubstr("the member 'measured'"));
    EXPECT_THAT(problem(file("fusescope.fuse/1", "3")), HasSubstr("r.json: measured[0]"));
    EXPECT_THAT(problem(file("fusescope.fuse/1", R"({"finding":"a"})")), HasSubstr("the member 'answer'"));
    std::string other = kEntry;
    other.replace(other.find("\"median\":90"), 11, "\"median\":-1");
    EXPECT_THAT(problem(file("fusescope.fuse/1", other)), HasSubstr("makes sense"));
    EXPECT_THAT(problem(file("fusescope.fuse/1", R"({"finding":"a","answer":{"id":1,"ev":"log","text":"x"}})")),
                HasSubstr("a measurement"));
    EXPECT_THAT(readMeasuredFile("/nowhere/r.json").error().message(), HasSubstr("/nowhere/r.json"));
}

} // namespace
} // namespace fusescope
