// SPDX-License-Identifier: Apache-2.0
// A file is what its bytes say.
#include "core/io/open.h"

#include "pt2_support.h"
#include "tests/support/files.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

namespace fusescope {
namespace {

class SniffTest : public ::testing::Test {
protected:
    std::string write(const std::string& bytes) {
        const std::string path = (folder_.path() / std::to_string(++n_)).string();
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    static std::string gzip(const std::string& text) {
        z_stream s{};
        EXPECT_EQ(deflateInit2(&s, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        std::string out(deflateBound(&s, text.size()) + 64, '\0');
        s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
        s.avail_in = static_cast<uInt>(text.size());
        s.next_out = reinterpret_cast<Bytef*>(out.data());
        s.avail_out = static_cast<uInt>(out.size());
        EXPECT_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
        out.resize(s.total_out);
        deflateEnd(&s);
        return out;
    }
    Result<OpenedFile> open(const std::string& path) {
        Progress progress;
        return openFile(path, progress);
    }
    test::TempDir folder_; // of this process alone: tests run beside each other
    int n_ = 0;
};

const std::string kEvent = R"({"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":1,"dur":2})";

TEST_F(SniffTest, SentencesNameTheFileAndWhatWasFound) {
    const std::pair<std::string, std::string> cases[] = {
        {"", "an empty file"},
        {"   \n", "nothing but white space"},
        {"hello world", "text that is not JSON, beginning \"hello world\""},
        {std::string("\x7F"
                     "ELF\x02\x01\x01\0\0",
                     9),
         "a program (ELF)"},
        {std::string("\x80\x02}q\x00.", 6), "a pickle, which is never opened"},
        {std::string("\x28\xB5\x2F\xFD\x04\x58", 6), "zstd data: unpack it first (zstd -d)"},
        {std::string("\xFD"
                     "7zXZ\0\0",
                     7),
         "xz data: unpack it first (xz -d)"},
        {"BZh91AY&SY", "bzip2 data: unpack it first (bzip2 -d)"},
        {gzip(""), "gzip data holding no text at all"},
        {"{\"nodes\":[1]}", "JSON without a traceEvents array"},
        {"{\"traceEvents\":[]}", "a traceEvents array without a single event"},
    };
    for (const auto& [bytes, found] : cases) {
        const std::string path = write(bytes);
        const auto opened = open(path);
        ASSERT_FALSE(opened.ok()) << found;
        EXPECT_EQ(opened.error().found, found);
        EXPECT_EQ(opened.error().message().find(path + ": expected "), 0U) << opened.error().message();
    }
}

TEST_F(SniffTest, MissingFilesAndFolders) {
    EXPECT_EQ(open("/nowhere/x.json").error().found, "no such file");
    EXPECT_EQ(open(::testing::TempDir()).error().found, "a folder");
    EXPECT_EQ(open("/dev/null").error().found, "a device or pipe, not a file");
}

TEST_F(SniffTest, KindsThatAreNotReadAreNamed) {
    const std::pair<std::string, std::string> cases[] = {
        {std::string("\x28\xB5\x2F\xFD") + "x", "zstd data"},
        {std::string("\xFD\x37\x7A\x58\x5A\0\0", 7), "xz data"},
        {"BZh91AY", "bzip2 data"},
        {gzip(gzip("{}")), "gzip data holding gzip data: unpack it once more"},
        {std::string("\xFF\xFE{\0", 4), "UTF-16 text"},
        {std::string("{\0\"\0", 4), "UTF-16 text"},
        {std::string("\xFF\xFE\0\0{\0\0\0", 8), "UTF-32 text"},
        {"graph():\n    %x : [num_users=2] = placeholder[target=x]", "the printout of an FX graph"},
        {"\n\nclass GraphModule(torch.nn.Module):", "the printout of an FX graph"},
        {"graph(%self.1 : __torch__.Wrap,", "the printout of a TorchScript graph"},
        {"V0703 12:00:00.123000 4711 torch/_inductor/graph.py:1] x", "a log of torch.compile"},
        {"/x/pgo.py:538: UserWarning: off\n  warn_once(\nV1129 14:27:16.551000 1183 "
         "torch/_dynamo/output_graph.py:2417] x",
         "a log of torch.compile"},
        {"Qwen3ForCausalLM(\n  (model): Qwen3Model(", "the printout of a model"},
        {R"({"schema":"1.1.1","pid":1,"nodes":[{"id":1)", "a PyTorch execution trace"},
        {R"({"schema":"fusescope.fuse/1","results":[]})", "analyze --measured"},
        {R"({"device":"","inputs":[],"measured":[{"finding":"rope"}],"schema":"fusescope.session/1"})",
         "the window opens a session"},
        {"\x7F"
         "ELF",
         "a program (ELF)"},
    };
    for (const auto& [bytes, found] : cases) {
        const auto opened = open(write(bytes));
        ASSERT_FALSE(opened.ok()) << found;
        EXPECT_NE(opened.error().found.find(found), std::string::npos) << opened.error().found;
    }
    std::filesystem::create_directory(folder_.path() / "fx");
    test::writeFile(folder_.path() / "fx" / "module.py", "import torch");
    EXPECT_NE(open(folder_.file("fx")).error().found.find("GraphModule.to_folder()"), std::string::npos);
}

TEST_F(SniffTest, KeysDecideNotWords) {
    const auto isTrace = [&](const std::string& bytes) {
        const auto opened = open(write(bytes));
        EXPECT_TRUE(opened.ok()) << opened.error().message();
        return opened.ok() && std::holds_alternative<TracePtr>(*opened);
    };
    std::string event = kEvent;
    event.insert(event.size() - 1, R"(,"args":{"schema":1,"nodes":2})");
    EXPECT_TRUE(isTrace("[" + event + "]"));
    const std::string pad(1'100'000, 'x'), space(1'100'000, ' ');
    EXPECT_TRUE(
        isTrace(R"({"schema":"x","metadata":{"nodes":[]},"pad":")" + pad + R"(","traceEvents":[)" + kEvent + "]}"));
    EXPECT_TRUE(isTrace(space + "{\"traceEvents\":[" + kEvent + "]}"));
    EXPECT_TRUE(isTrace(gzip(space + "{\"traceEvents\":[" + kEvent + "]}")));
}

TEST_F(SniffTest, TheNameDoesNotMatter) {
    const std::string path = write("{\"traceEvents\":[" + kEvent + "]}");
    const auto opened = open(path);
    ASSERT_TRUE(opened.ok());
    EXPECT_TRUE(std::holds_alternative<TracePtr>(*opened));
}

TEST_F(SniffTest, SeveralGzipMembersAreOneText) {
    const std::string text = "{\"traceEvents\":[" + kEvent + "," + kEvent + "]}";
    const auto opened = open(write(gzip(text.substr(0, 40)) + gzip(text.substr(40))));
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(std::get<TracePtr>(*opened)->slices.size(), 2U);
}

TEST_F(SniffTest, ACutGzipIsReadUpToTheCut) {
    std::string text = "{\"traceEvents\":[";
    for (int i = 0; i < 20000; ++i)
        text += kEvent.substr(0, kEvent.size() - 9) + ",\"dur\":" + std::to_string(i * 7919 % 1000) + "},";
    const std::string whole = gzip(text + kEvent + "]}");
    const auto half = open(write(whole.substr(0, whole.size() / 2)));
    ASSERT_TRUE(half.ok()) << half.error().message();
    const TraceStore& t = *std::get<TracePtr>(*half);
    EXPECT_GT(t.slices.size(), 1000U);
    EXPECT_LT(t.slices.size(), 20001U);
    ASSERT_EQ(t.problems.size(), 1U); // the event in which the archive ends is no damage of its own
    EXPECT_EQ(t.problems.front().kind, "truncated");
    EXPECT_EQ(t.problems.front().count, 1U);
    EXPECT_EQ(t.problems.front().message.find("the file is gzip data that ends after "), 0U)
        << t.problems.front().message;
    const auto stub = open(write(whole.substr(0, 15)));
    ASSERT_FALSE(stub.ok());
    EXPECT_NE(stub.error().found.find("gzip data that ends after 15 bytes"), std::string::npos)
        << stub.error().message();
}

TEST_F(SniffTest, NamesInsideOfFilesAreNoTableOfContents) { // a ZIP of one stored text that speaks of other files
    const auto sniffed = sniffFile(write(test::zipOf({{"notes.txt", "archive_format constants.pkl models/"}}, true)));
    ASSERT_TRUE(sniffed.ok());
    EXPECT_EQ(sniffed->what, "a ZIP archive");
    const auto script = sniffFile(write(test::zipOf({{"m/constants.pkl", "x"}, {"m/data.pkl", "models/"}}, true)));
    ASSERT_TRUE(script.ok());
    EXPECT_EQ(script->kind, FileKind::TorchScript);
}

TEST_F(SniffTest, DamagedGzip) {
    std::string bytes = gzip("{\"traceEvents\":[" + kEvent + "]}");
    bytes[12] = static_cast<char>(bytes[12] ^ 0x55);
    const auto opened = open(write(bytes));
    if (opened.ok()) {
        EXPECT_FALSE(std::get<TracePtr>(*opened)->problems.empty());
    } else {
        EXPECT_NE(opened.error().found.find("gzip data"), std::string::npos) << opened.error().message();
    }
}

TEST_F(SniffTest, CancelledWhileReading) {
    std::string text = "{\"traceEvents\":[";
    for (int i = 0; i < 100000; ++i) text += kEvent + ",";
    Progress progress;
    progress.cancel();
    EXPECT_EQ(readKinetoTrace(write(text), false, progress).error().code, ErrorCode::Cancelled);
    EXPECT_EQ(readKinetoTrace(write(gzip(text)), true, progress).error().code, ErrorCode::Cancelled);
}

} // namespace
} // namespace fusescope
