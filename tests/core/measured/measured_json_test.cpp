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
        const Result<MeasuredFile> read = readMeasured(file(schema, kEntry), "r.json");
        ASSERT_TRUE(read) << read.error().message();
        const MeasuredResult* m = read->set.find("rms_norm", "rms_norm/bf16/4096");
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
    const MeasuredSet set = readMeasured(file("fusescope.fuse/1", kEntry), "r.json")->set;
    for (const int indent : {0, 1}) {
        JsonWriter json(indent);
        json.beginObject().member("schema", "fusescope.fuse/1").key("measured");
        writeMeasured(json, set);
        json.endObject();
        const Result<MeasuredFile> again = readMeasured(json.text(), "r.json");
        ASSERT_TRUE(again) << again.error().message();
        const MeasuredResult &a = set.results().begin()->second, &b = again->set.results().begin()->second;
        EXPECT_EQ(*encodeAnswer({1, RunnerResult(a.result)}), *encodeAnswer({1, RunnerResult(b.result)}));
        EXPECT_EQ(a.versions, b.versions);
    }
}

// A session with regions, each as text.
std::string session(const std::string& regions) {
    return R"({"schema":"fusescope.session/1","measured":[],"regions":[)" + regions + "]}";
}

TEST(MeasuredJson, ASessionHasItsRegions) {
    const std::string one = R"({"module":"model.layers.0","nodes":["mul_1","silu"],"fusions":[],"note":"Added: x"})";
    const std::string all = R"({"module":"","fusions":["swiglu"]})"; // the whole model
    const Result<MeasuredFile> read = readMeasured(session(one + "," + all), "s.fusescope");
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_EQ(read->regions.size(), 2u);
    EXPECT_EQ(read->regions[0].nodes, (std::vector<std::string>{"mul_1", "silu"}));
    EXPECT_EQ(read->regions[0].note, "Added: x");
    EXPECT_TRUE(read->regions[1].wholeModule());
    EXPECT_EQ(read->regions[1].fusions, std::vector<std::string>{"swiglu"});
    JsonWriter json;
    writeChosenRegions(json, read->regions);
    const Result<MeasuredFile> again =
        readMeasured(R"({"schema":"fusescope.session/1","measured":[],"regions":)" + json.text() + "}", "s.fusescope");
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->regions[0].module, "model.layers.0");
    EXPECT_EQ(again->regions[1].fusions, std::vector<std::string>{"swiglu"});
    EXPECT_TRUE(readMeasured(file("fusescope.session/1", ""), "old.fusescope")->regions.empty());
}

TEST(MeasuredJson, WhatARegionIsNotIsSaid) {
    const auto problem = [](const std::string& regions) {
        const Result<MeasuredFile> read = readMeasured(session(regions), "s.fusescope");
        return read ? std::string() : read.error().message();
    };
    EXPECT_EQ(problem(""), "");
    EXPECT_THAT(problem("7"), HasSubstr("s.fusescope: regions[0]"));
    EXPECT_THAT(problem(R"({"nodes":["a"]})"), HasSubstr("the member 'module'"));
    EXPECT_THAT(problem(R"({"module":"m","nodes":["a",3]})"), HasSubstr("regions[0].nodes[1]"));
    std::string many = R"({"module":"m"})";
    for (int i = 0; i < 1000; ++i) many += R"(,{"module":"m"})";
    EXPECT_THAT(problem(many), HasSubstr("at most 1000 entries"));
}

TEST(MeasuredJson, WhatItIsNotIsSaid) {
    const auto problem = [](const std::string& text) {
        const Result<MeasuredFile> read = readMeasured(text, "r.json");
        return read ? std::string() : read.error().message();
    };
    EXPECT_EQ(problem(file("fusescope.fuse/1", "")), "");
    EXPECT_THAT(problem(""), HasSubstr("an empty file"));
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
