// SPDX-License-Identifier: Apache-2.0
// The ZIP side: layouts of several torch versions, and everything that is no torch.export archive.
#include "core/io/open.h"
#include "core/io/pt2/pt2_archive.h"
#include "pt2_support.h"
#include "tests/support/files.h"

namespace fusescope {
namespace {

using test::Files;
using test::readFiles;
using test::relu;

void expectError(const Files& files, ErrorCode code, const std::string& part) {
    const Result<GraphPtr> graph = readFiles(files);
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.error().code, code) << graph.error().message();
    EXPECT_NE(graph.error().message().find(part), std::string::npos) << graph.error().message();
}

TEST(Pt2Archive, LayoutsOfAllVersions) {
    const std::string text = relu().text();
    for (const Files& files : {
             Files{{"net/archive_format", "pt2"},
                   {"net/models/model.json", text},
                   {"net/data/weights/weight_0", ""}},                      // 2.8 on
             Files{{"archive_format", "pt2"}, {"models/other.json", text}}, // without a root
             Files{{"models/model.json", text}, {"models/config", ""}},
             Files{{"version", "8.5"},
                   {"serialized_exported_program.json", text},
                   {"serialized_state_dict.pt", "x"}}, // 2.1 - 2.7
         }) {
        const Result<GraphPtr> graph = readFiles(files);
        ASSERT_TRUE(graph.ok()) << graph.error().message();
        EXPECT_EQ((*graph)->ops.nodes.size(), 1u);
        EXPECT_EQ((*graph)->format, "pt2");
        EXPECT_EQ((*graph)->producer, "torch 2.9.1");
    }
}

TEST(Pt2Archive, StoredAndDeflatedEntries) {
    for (const bool stored : {true, false})
        EXPECT_TRUE(readPt2Memory(test::zipOf({{"a/models/model.json", relu().text()}}, stored)).ok());
}

TEST(Pt2Archive, FirstOfSeveralModels) {
    const Result<GraphPtr> graph = readFiles({{"a/models/first.json", relu().text()}, {"a/models/second.json", "{}"}});
    ASSERT_TRUE(graph.ok());
    ASSERT_EQ((*graph)->problems.size(), 1u);
    EXPECT_EQ((*graph)->problems[0].kind, "other models");
}

TEST(Pt2Archive, SaysWhatElseItIs) {
    expectError({{"m/constants.pkl", "x"}, {"m/data.pkl", "x"}, {"m/code/m.py", ""}}, ErrorCode::WrongFormat,
                "TorchScript module (constants.pkl)");
    expectError({{"m/data.pkl", "x"}, {"m/data/0", "x"}}, ErrorCode::WrongFormat, "written by torch.save (data.pkl)");
    expectError({{"m/data/aotinductor/model/x.so", "x"}, {"m/archive_format", "pt2"}}, ErrorCode::WrongFormat,
                "compiled code only");
    expectError({{"word/document.xml", "x"}}, ErrorCode::WrongFormat, "ZIP archive of 1 entry ");
}

TEST(Pt2Archive, NotAZip) {
    for (const std::string_view bytes : {"", "PK", "plain text", "PK\x03\x04 cut"}) {
        const Result<GraphPtr> graph = readPt2Memory(bytes);
        ASSERT_FALSE(graph.ok());
        EXPECT_NE(graph.error().message().find("expected a torch.export archive"), std::string::npos)
            << graph.error().message();
    }
}

TEST(Pt2Archive, FilesOfTheSystem) {
    Progress progress;
    const Result<GraphPtr> missing = readPt2("/nonexistent/x.pt2", progress);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
    EXPECT_EQ(missing.error().where, "/nonexistent/x.pt2");
    const test::TempDir folder;
    EXPECT_FALSE(readPt2(folder.path().string(), progress).ok()); // a folder
    test::writeFile(folder.file("x.pt2"), test::zipOf({{"models/model.json", relu().text()}}));
    const Result<GraphPtr> good = readPt2(folder.file("x.pt2"), progress);
    ASSERT_TRUE(good.ok());
    EXPECT_EQ((*good)->path, folder.file("x.pt2"));
}

TEST(Pt2Archive, CutAnywhereIsAnErrorNotADeath) {
    const std::string whole = test::zipOf({{"a/models/model.json", relu().text()}, {"a/version", "1"}});
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(readPt2Memory(whole.substr(0, size)).ok()) << size;
}

TEST(Pt2Archive, FlippedBytesAreNoDeath) {
    const std::string whole = test::zipOf({{"a/models/model.json", relu().text()}, {"a/version", "1"}}, true);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string bad = whole;
        bad[i] = static_cast<char>(bad[i] ^ 0x5A);
        (void)readPt2Memory(bad); // a value or an error
    }
}

TEST(Pt2Archive, DamagedContentFailsItsChecksum) {
    std::string bytes = test::zipOf({{"a/models/model.json", relu().text()}}, true);
    const std::size_t at = bytes.find("torch.ops.aten.relu");
    ASSERT_NE(at, std::string::npos);
    bytes[at] = 'T';
    const Result<GraphPtr> graph = readPt2Memory(bytes);
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.error().code, ErrorCode::Damaged);
    EXPECT_NE(graph.error().message().find("models/model.json"), std::string::npos);
}

TEST(Pt2Archive, ZipBombsAreRefused) {
    const std::string zeros(64u << 20, ' ');
    const Result<GraphPtr> graph = readFiles({{"a/models/model.json", zeros}});
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.error().code, ErrorCode::Limit) << graph.error().message();
}

TEST(Pt2Archive, BadJson) {
    expectError({{"models/m.json", ""}}, ErrorCode::Damaged, "damaged JSON");
    expectError({{"models/m.json", "{\"graph_module\":"}}, ErrorCode::Damaged, "damaged JSON");
    expectError({{"models/m.json", "[1]"}}, ErrorCode::WrongFormat, "JSON that is no object");
    expectError({{"models/m.json", "{}"}}, ErrorCode::WrongFormat, "a JSON object without it");
    expectError({{"models/m.json", "{\"graph_module\":{}}"}}, ErrorCode::Damaged, "graph_module.graph");
    expectError({{"models/m.json", "{\"graph_module\":{\"graph\":{}}}"}}, ErrorCode::Damaged, "graph.nodes");
    std::string deep(600, '[');
    deep += std::string(600, ']');
    expectError({{"models/m.json", "{\"graph_module\":" + deep + "}"}}, ErrorCode::Limit, "256 deep");
}

TEST(Pt2Archive, NamesWithoutRootStayAsTheyAre) {
    const std::string bytes = test::zipOf({{"models/a.json", "1"}, {"models/b.json", "2"}});
    const Result<pt2::Archive> archive = pt2::Archive::openMemory(bytes, "memory");
    ASSERT_TRUE(archive.ok());
    EXPECT_NE(archive->find("models/a.json"), nullptr);
    EXPECT_EQ(archive->find("a.json"), nullptr);
}

} // namespace
} // namespace fusescope
